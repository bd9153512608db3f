/* generate.c  `soa gen`: one model as a self-contained C file.
 *
 * The file holds the model's tables as constants and the text of the very sweeps the library runs
 * (kernel_text.h), so that the compiler can unroll them over the bodies and drop what is zero
 * (generate_sweeps.c); then come the functions that are called (the files of generated/).  All
 * stands there twice, for one state and for several in SIMD lanes; in the second copy every name
 * the sweeps define gets the suffix _lanes. */
#include "generate.h"
#include "../base/new_file.h"
#include "../base/visible.h"
#include "kernel_text.h"
#include "soa/io.h"
#include <ctype.h>
#include <math.h>

/* Text without the quoted includes: the files follow each other in order of dependency.
 * table_fields.h alone stands where it is included, twice, once per constant type. */
static const char view_name[] = "table_fields.h";
static void put_kernel(FILE *f, const char *text) {
    while (*text) {
        const char *end = strchr(text, '\n');
        const size_t n = end ? (size_t)(end - text) + 1 : strlen(text);
        if (!strncmp(text, "#include \"table_fields.h\"", 25)) {
            for (const soai_text *t = soai_kernel_text; t->name; ++t)
                if (!strcmp(t->name, view_name)) put_kernel(f, t->text);
        } else if (strncmp(text, "#include \"", 10)) {
            fwrite(text, 1, n, f);
        }
        text += n;
    }
}
static void put_kernels(FILE *f) {
    for (const soai_text *t = soai_kernel_text; t->name; ++t)
        if (strcmp(t->name, view_name)) put_kernel(f, t->text);
}

/* Calls fn for every name that the kernels define at file scope: macros (kind 'm') or functions,
 * types and enumerators (kind 'f'). */
typedef void name_fn(FILE *f, const char *name, size_t length);
static void each_name(FILE *f, char kind, name_fn *fn) {
    static const char *const types[] = {
        "real",        "konst",      "soai_mask",  "pack",        "pack_mask", "body_table",
        "dof_table",   "view_table", "body_work",  "kernel_work", "joint",     "pose",
        "abi_rotated", "XX",         "YY",         "ZZ",          "ABI_SIZE",  "XY",
        "XZ",          "YZ",         "ARTICULATE", "INNOVATE",    "BIAS",      "CLASSICAL"};
    for (const soai_text *t = soai_kernel_text; t->name; ++t)
        for (const char *line = t->text; *line;) {
            const char *end = strchr(line, '\n'), *next = end ? end + 1 : line + strlen(line);
            if (kind == 'm' && !strncmp(line, "#define ", 8)) {
                const char *s = line + 8, *e = s;
                while (isalnum((unsigned char)*e) || *e == '_')
                    ++e;
                fn(f, s, (size_t)(e - s));
            }
            if (kind == 'f' &&
                (!strncmp(line, "SOAI_INLINE ", 12) || !strncmp(line, "SOAI_SWEEP ", 11) ||
                 !strncmp(line, "static __attribute__", 20))) {
                const char *open = line + (strncmp(line, "static", 6) ? 0 : 20);
                if (open != line) { /* past the attribute's own parentheses */
                    int depth = 0;
                    do {
                        depth += *open == '(';
                        depth -= *open == ')';
                    } while (*open++ && depth);
                }
                open = strchr(open, '(');
                const char *s = open;
                while (s > line && (isalnum((unsigned char)s[-1]) || s[-1] == '_'))
                    --s;
                if (open) fn(f, s, (size_t)(open - s));
            }
            line = next;
        }
    if (kind == 'f')
        for (size_t i = 0; i < sizeof types / sizeof *types; ++i)
            fn(f, types[i], strlen(types[i]));
}
static void put_undef(FILE *f, const char *name, size_t n) {
    static const char *const once[] = {"SOAI_VIEWS_H", "SOAI_VIEW_COMMON",
                                       "SOAI_JOINT_TYPES_H"}; /* no numbers in them */
    for (size_t i = 0; i < sizeof once / sizeof *once; ++i)
        if (strlen(once[i]) == n && !strncmp(once[i], name, n)) return;
    fprintf(f, "#undef %.*s\n", (int)n, name);
}
static void put_rename(FILE *f, const char *name, size_t n) {
    fprintf(f, "#define %.*s %.*s_lanes\n", (int)n, name, (int)n, name);
}

static void put_numbers(FILE *f, const char *name, const double *x, size_t n) {
    fprintf(f, " .%s = {", name);
    for (size_t i = 0; i < n; ++i)
        fprintf(f, "%s%.17g", i ? ", " : "", x[i]);
    fprintf(f, "},\n");
}

/* Bodies and degrees of freedom, as gen_<name>_body and gen_<name>_dof. */
static void put_rows(FILE *f, const char *name, const soai_view_double v) {
    fprintf(f, "static const soai_body_double gen_%s_body[%d] = {\n{.parent = 0},\n", name,
            v.nb + 1);
    for (int i = 1; i <= v.nb; ++i) {
        const soai_body_double *b = v.body + i;
        fprintf(f,
                "{.parent = %d, .type = %d, .kind = %d, .nv = %d, .iq = %d, .iv = %d, .id = %d, "
                ".rotor = %d, "
                ".child = %d, .starts = %d, .levers = %d, .run = %d, .end = %d, .path = %d, "
                ".path_in = %d, .own = %d,\n",
                b->parent, b->type, b->kind, b->nv, b->iq, b->iv, b->id, b->rotor, b->child,
                b->starts, b->levers, b->run, b->end, b->path, b->path_in, b->own);
        put_numbers(f, "R0", b->R0, 9);
        put_numbers(f, "R1", b->R1, 9);
        put_numbers(f, "R2", b->R2, 9);
        put_numbers(f, "p", b->p, 3);
        put_numbers(f, "axis", b->axis, 3);
        put_numbers(f, "slide", b->slide, 3);
        put_numbers(f, "M", b->M, 10);
        put_numbers(f, "P", b->P, 24);
        fprintf(f, " .armature = %.17g, .hinge = %.17g,\n", b->armature, b->hinge);
        fprintf(f, "},\n");
    }
    fprintf(f, "};\nstatic const soai_dof_double gen_%s_dof[%d] = {\n", name, v.nv > 0 ? v.nv : 1);
    for (int i = 0; i < v.nv; ++i) {
        const soai_dof_double *d = v.dof + i;
        fprintf(f,
                "{.armature = %.17g, .damping = %.17g, .friction_positive = %.17g, "
                ".friction_negative = %.17g, "
                ".stiffness = %.17g, .rest = %.17g,\n",
                d->armature, d->damping, d->friction_positive, d->friction_negative, d->stiffness,
                d->rest);
        put_numbers(f, "H", d->H, 6);
        put_numbers(f, "rotor", d->rotor, 3);
        fprintf(f, "},\n");
    }
    fprintf(f, "%s};\n", v.nv ? "" : "{0}");
}

/* The model's own tables for poses, and the ones with other body axes (aligned_frames.c) for what
 * gives out joint numbers only. */
static void put_tables(FILE *f, const soa_model *m, const soai_view_double v,
                       const soai_view_double level) {
    const char *unit = "";
    put_rows(f, "own", v);
    put_rows(f, "level", level);
    fprintf(f, "static const soai_mimic_double gen_mimic[%d] = {", v.nm > 0 ? v.nm : 1);
    for (int i = 0; i < v.nm; ++i)
        fprintf(f, "{%d, %d, %.17g, %.17g},", v.mimic[i].follower, v.mimic[i].leader,
                v.mimic[i].ratio, v.mimic[i].hold);
    fprintf(f, "%s};\n", v.nm ? unit : "{0}");
    for (int k = 0; k < 2; ++k) {
        const char *name = k ? "level" : "own";
        fprintf(f,
                "static const soai_view_double gen_%s = {%d, %d, %d, %d, %d, %d, %d, 0, {%.17g, "
                "%.17g, %.17g}, gen_%s_body, "
                "gen_%s_dof, gen_mimic};\n",
                name, v.nb, v.nq, v.nv, v.nd, v.nm, v.losses, v.stuck, v.gravity[0], v.gravity[1],
                v.gravity[2], name, name);
    }
    const soai_map *maps[2] = {SOAI_AT(m, soai_map, map_q), SOAI_AT(m, soai_map, map_v)};
    const int counts[2] = {m->tq, m->tv};
    fprintf(f, "typedef struct gen_map { int user; double ratio, offset; } gen_map;\n");
    for (int k = 0; k < 2; ++k) {
        fprintf(f, "static const gen_map gen_map_%c[] = {", k ? 'v' : 'q');
        for (int i = 0; i < counts[k]; ++i)
            fprintf(f, "{%d, %.17g, %.17g},", maps[k][i].user, maps[k][i].ratio, maps[k][i].offset);
        fprintf(f, "%s};\n", counts[k] ? "" : "{0, 0, 0}");
    }
    fprintf(f, "static const int gen_leads[] = {"); /* 0 for mimic joints */
    for (int i = 0; i < m->tv; ++i) {
        int leads = 1;
        for (int k = 0; k < m->nm; ++k)
            leads = leads && v.mimic[k].follower != i;
        fprintf(f, "%d,", leads);
    }
    fprintf(f, "%s};\n", m->tv ? "" : "0");
}

/* A file of src/gen/templates, with PREFIX replaced in it. */
static void put_template(FILE *f, const char *name, const char *prefix) {
    const soai_text *t = soai_generated_text;
    while (strcmp(t->name, name) != 0)
        ++t;
    const char *text = t->text;
    for (const char *at; (at = strstr(text, "PREFIX")); text = at + 6) {
        fwrite(text, 1, (size_t)(at - text), f);
        fputs(prefix, f);
    }
    fputs(text, f);
}

/* Rows of coordinates that are angles, see angles() in joint.h. */
static void put_angles(FILE *f, const soai_view_double v) {
    int rows = 0;
    fprintf(f, "#define SOAI_ANGLES ");
    for (int i = 1; i <= v.nb; ++i) {
        const int first = v.body[i].iq;
        int end = first;
        for (; i <= v.nb && v.body[i].iq == end && soai_gen_turns(v.body[i].kind); ++i)
            end += v.body[i].nv;
        if (end == first) continue;
        fprintf(f, "%s{%d, %d}", rows++ ? ", " : "", first, end);
        --i;
    }
    fprintf(f, "%s\n", rows ? "" : "{0, 0}");
}

/* A name inside a comment: it can neither end it nor its line. */
static void put_name(FILE *f, const char *name) {
    char before = 0;
    for (const char *c = name; *c;) {
        char escaped[SOAI_VISIBLE_ROOM];
        const size_t n = soai_visible(c, strlen(c), escaped);
        const int closes = (*c == '/' && before == '*') || (*c == '*' && before == '/');
        if (escaped[0] || closes)
            fputc(' ', f);
        else
            fwrite(c, 1, n, f);
        before = *c;
        c += n;
    }
}

static void put_file(FILE *f, const soa_model *m, const soai_view_double level, soai_gen_sharing *s,
                     const char *prefix) {
    const soai_view_double own = soai_model_view(m);
    unsigned kinds = 0;
    for (int i = 1; i <= m->nb; ++i)
        kinds |= 1u << own.body[i].kind | 1u << level.body[i].kind;
    fprintf(f, "/* %s.c  dynamics of the model \"", prefix);
    put_name(f, soa_model_name(m));
    fprintf(f,
            "\", generated by soa %s: self-contained C11 (GCC or Clang), nothing but libm.\n"
            " *\n"
            " * nq %d, nv %d, bodies %d.  Coordinates as in the library (docs/notation.md).  No "
            "call allocates or "
            "checks its\n"
            " * input; give finite numbers and unit quaternions.  Each returns 0, the number of a "
            "body that moves no "
            "inertia, or\n * -1 for a body that is not there.\n"
            " *   int %s_fd(q, v, tau, qdd)          forward dynamics\n"
            " *   int %s_id(q, v, a, tau)            inverse dynamics\n"
            " *   int %s_mass(q, M)                  mass matrix, nv x nv, row by row\n"
            " *   int %s_kinematics(q, R, p)         pose of every body: 9 and 3 numbers each\n"
            " *   int %s_jacobian(q, body, J)        6 x nv, angular rows first, world axes, at "
            "the body's origin\n"
            " *   int %s_{fd,id,mass}_batch(n, ...)  n states, state after state, four or "
            "(AVX-512) eight at a time\n"
            " * Bodies: ",
            soa_version(), m->nq, m->nv, m->nb, prefix, prefix, prefix, prefix, prefix, prefix);
    for (int i = 1; i <= m->nb; ++i) {
        soa_body_info info;
        soa_model_body(m, i, &info);
        fprintf(f, "%s%d ", i > 1 ? ", " : "", i);
        put_name(f, info.link);
    }
    fprintf(f, ".\n * Compile with optimisation for the processor at hand, e.g. -O3 -march=native; "
               "the lines below ask for "
               "the rest.  */\n");
    put_template(f, "compiler.h", prefix);
    fprintf(f,
            "#define SOAI_GENERATED 1\n#define GEN_NB %d\n#define GEN_NQ %d\n#define GEN_NV "
            "%d\n#define GEN_TQ %d\n"
            "#define GEN_TV %d\n#define GEN_ND %d\n#define GEN_NM %d\n#define GEN_MASS %s\n#define "
            "GEN_LEAVES %d\n",
            m->nb, m->nq, m->nv, m->tq, m->tv, m->nd, level.nm,
            soai_by_columns(m->nb, own.body) ? "mass_columns" : "crba", soai_gen_leaves(level));
    put_angles(f, own);
    fprintf(f,
            "\n/* ---- one state ---------------------------------------------------------------- "
            "*/\n#define "
            "SOAI_NUMBER SOAI_DOUBLE\n#define SOAI_KINDS 0x%x\n",
            kinds);
    soai_gen_share(level, SOAI_GEN_ONE_STATE, s);
    soai_gen_put_sweeps(f, level, s, "gen_order");
    put_kernels(f);
    fprintf(f, "\n/* ---- the model "
               "---------------------------------------------------------------- */\n");
    put_tables(f, m, own, level);
    fprintf(f, "#define GEN(name) gen_##name\n");
    put_template(f, "states.h", prefix);
    put_template(f, "one_state.h", prefix);
    fprintf(
        f,
        "\n/* ---- several states in lanes: the same text under other names ---------------- */\n");
    put_template(f, "tune.h", prefix);
    fprintf(f, "#undef GEN\n#undef GEN_STEP\n#undef GEN_WORK\n#undef GEN_AT\n#undef SOAI_NUMBER\n");
    each_name(f, 'm', put_undef);
    each_name(f, 'f', put_rename);
    fprintf(f, "#define SOAI_NUMBER SOAI_DOUBLE_LANES\n#define SOAI_KINDS 0x%x\n", kinds);
    soai_gen_share(level, SOAI_GEN_LANES_OF_8, s);
    const soai_gen_by wide = s->by;
    if (wide == SOAI_GEN_EACH) {
        soai_gen_share(level, SOAI_GEN_LANES_OF_4, s);
        if (s->by != wide) {
            fprintf(f, "#ifdef __AVX512F__\n");
            soai_gen_put_each(f, s);
            fprintf(f, "#else\n");
        }
    }
    soai_gen_put_sweeps(f, level, s, "gen_order_lanes");
    if (s->by != wide) fprintf(f, "#endif\n");
    put_kernels(f);
    if (soai_gen_leaves(level)) soai_gen_put_leaving(f, level, s);
    fprintf(f, "#define GEN(name) gen_lanes_##name\n");
    put_template(f, "states.h", prefix);
    put_template(f, "leaving.h", prefix);
    put_template(f, "batch.h", prefix);
}

soa_status soa_model_generate_c(const soa_model *model, const char *prefix, const char *path,
                                soa_report *report) {
    soai_report_reset(report);
    if (!model || !prefix || !path)
        return soai_report(report, SOA_E_ARGUMENT, -1, 0, "no model, prefix or path");
    int fits = isalpha((unsigned char)*prefix) || *prefix == '_';
    for (const char *c = prefix; *c; ++c)
        fits = fits && (isalnum((unsigned char)*c) || *c == '_');
    if (!fits)
        return soai_report(report, SOA_E_NAME, -1, 0,
                           "\"%s\" is not a C name; letters, digits and _ only", prefix);
    if (soa_model_body_count(model) > 1000)
        return soai_report(
            report, SOA_E_ARGUMENT, -1, 0,
            "%d bodies: generated code keeps its work space on the stack and takes at most 1000",
            soa_model_body_count(model));
    soai_view_double level = soai_model_view(model);
    const size_t B = (size_t)level.nb + 1;
    soai_body_double *body = malloc(B * sizeof *body);
    soai_dof_double *dof = malloc(((size_t)level.nv + 1) * sizeof *dof);
    soai_frame *frames = malloc(B * sizeof *frames);
    soai_gen_sharing s = {.order = malloc(B * sizeof(int)),
                          .across = malloc(B * sizeof(int)),
                          .like = malloc(B * sizeof(int)),
                          .links = malloc(B * sizeof(int))};
    const int memory = body && dof && frames && s.order && s.across && s.like && s.links;
    char *text = NULL;
    size_t size = 0;
    FILE *f = memory ? open_memstream(&text, &size) : NULL;
    if (f) {
        soai_level(&level, SOAI_ALIGN_WITHOUT_MOTORS, body, dof, frames);
        soai_regroup(level.nb, body);
        soai_gen_mark(level.nb, body);
        level.body = body;
        level.dof = dof;
        soai_gen_share(level, SOAI_GEN_LANES_OF_4, &s);
        for (int i = 1; s.by > SOAI_GEN_BUILD && i <= level.nb; ++i)
            body[i].own = 0; /* bodies that differ in it share steps */
        put_file(f, model, level, &s, prefix);
    }
    free(body);
    free(dof);
    free(frames);
    free(s.order);
    free(s.across);
    free(s.like);
    free(s.links);
    const int bad = !f || ferror(f);
    const int lost = f && fclose(f);
    const soa_status status = bad || lost ? soai_report(report, SOA_E_MEMORY, -1, 0, "no memory")
                                          : soai_new_file_write(path, text, size, report);
    free(text);
    return soai_report_end(report, status);
}
