/* generate.c  `soa gen`: one model as a self-contained C file.
 *
 * The file holds the model's tables as constants and the text of the very sweeps the library runs (kernel_text.h), so
 * that the compiler can unroll them over the bodies and drop what is zero.  The sweeps stand there twice, for one
 * state and for four in SIMD lanes; in the second copy every name they define gets the suffix _lanes.               */
#include "../model/model_internal.h"
#include "kernel_text.h"
#include "soa/io.h"
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* Text without the quoted includes: the files follow each other in order of dependency.  view.h alone stands where it
 * is included, twice, once per constant type. */
static const char view_name[] = "view.h";
static void put_kernel(FILE *f, const char *text) {
    while (*text) {
        const char *end = strchr(text, '\n');
        const size_t n = end ? (size_t)(end - text) + 1 : strlen(text);
        if (!strncmp(text, "#include \"view.h\"", 17)) {
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

/* Calls fn for every name that the kernels define at file scope: macros (kind 'm') or functions, types and
 * enumerators (kind 'f'). */
typedef void name_fn(FILE *f, const char *name, size_t length);
static void each_name(FILE *f, char kind, name_fn *fn) {
    static const char *const types[] = {
        "real",       "konst",     "soai_mask",   "pack",       "pack_mask", "body_table", "dof_table",
        "view_table", "body_work", "kernel_work", "XX",         "YY",        "ZZ",         "ABI_SIZE",
        "XY",         "XZ",        "YZ",          "ARTICULATE", "INNOVATE",  "BIAS",       "CLASSICAL"};
    for (const soai_text *t = soai_kernel_text; t->name; ++t)
        for (const char *line = t->text; *line;) {
            const char *end = strchr(line, '\n'), *next = end ? end + 1 : line + strlen(line);
            if (kind == 'm' && !strncmp(line, "#define ", 8)) {
                const char *s = line + 8, *e = s;
                while (isalnum((unsigned char)*e) || *e == '_') ++e;
                fn(f, s, (size_t)(e - s));
            }
            if (kind == 'f' && (!strncmp(line, "SOAI_INLINE ", 12) || !strncmp(line, "SOAI_SWEEP ", 11) ||
                                !strncmp(line, "static __attribute__", 20))) {
                const char *open = line + (strncmp(line, "static", 6) ? 0 : 20);
                if (open != line) { /* past the attribute's own parentheses */
                    int depth = 0;
                    do depth += *open == '(', depth -= *open == ')';
                    while (*open++ && depth);
                }
                open = strchr(open, '(');
                const char *s = open;
                while (s > line && (isalnum((unsigned char)s[-1]) || s[-1] == '_')) --s;
                if (open) fn(f, s, (size_t)(open - s));
            }
            line = next;
        }
    if (kind == 'f')
        for (size_t i = 0; i < sizeof types / sizeof *types; ++i) fn(f, types[i], strlen(types[i]));
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
    for (size_t i = 0; i < n; ++i) fprintf(f, "%s%.17g", i ? ", " : "", x[i]);
    fprintf(f, "},\n");
}

/* Bodies and degrees of freedom, as gen_<name>_body and gen_<name>_dof. */
static void put_rows(FILE *f, const char *name, const soai_view_double v) {
    fprintf(f, "static const soai_body_double gen_%s_body[%d] = {\n{.parent = 0},\n", name, v.nb + 1);
    for (int i = 1; i <= v.nb; ++i) {
        const soai_body_double *b = v.body + i;
        fprintf(
            f,
            "{.parent = %d, .type = %d, .kind = %d, .nv = %d, .iq = %d, .iv = %d, .id = %d, .rotor = %d, "
            ".child = %d, .starts = %d, .levers = %d, .run = %d, .end = %d, .path = %d, .path_in = %d, .own = %d,\n",
            b->parent, b->type, b->kind, b->nv, b->iq, b->iv, b->id, b->rotor, b->child, b->starts, b->levers, b->run,
            b->end, b->path, b->path_in, b->own);
        put_numbers(f, "R0", b->R0, 9), put_numbers(f, "R1", b->R1, 9), put_numbers(f, "R2", b->R2, 9);
        put_numbers(f, "p", b->p, 3), put_numbers(f, "axis", b->axis, 3), put_numbers(f, "slide", b->slide, 3);
        put_numbers(f, "M", b->M, 10), put_numbers(f, "P", b->P, 24);
        fprintf(f, " .armature = %.17g, .hinge = %.17g,\n", b->armature, b->hinge);
        fprintf(f, "},\n");
    }
    fprintf(f, "};\nstatic const soai_dof_double gen_%s_dof[%d] = {\n", name, v.nv > 0 ? v.nv : 1);
    for (int i = 0; i < v.nv; ++i) {
        const soai_dof_double *d = v.dof + i;
        fprintf(f,
                "{.armature = %.17g, .damping = %.17g, .friction_positive = %.17g, .friction_negative = %.17g, "
                ".stiffness = %.17g, .rest = %.17g,\n",
                d->armature, d->damping, d->friction_positive, d->friction_negative, d->stiffness, d->rest);
        put_numbers(f, "H", d->H, 6), put_numbers(f, "rotor", d->rotor, 3);
        fprintf(f, "},\n");
    }
    fprintf(f, "%s};\n", v.nv ? "" : "{0}");
}

/* The model's own tables for poses, and the ones with other body axes (level.c) for what gives out joint numbers only. */
static void put_tables(FILE *f, const soa_model *m, const soai_view_double v, const soai_view_double level) {
    const char *unit = "";
    put_rows(f, "own", v);
    put_rows(f, "level", level);
    fprintf(f, "static const soai_mimic_double gen_mimic[%d] = {", v.nm > 0 ? v.nm : 1);
    for (int i = 0; i < v.nm; ++i)
        fprintf(f, "{%d, %d, %.17g, %.17g},", v.mimic[i].follower, v.mimic[i].leader, v.mimic[i].ratio,
                v.mimic[i].hold);
    fprintf(f, "%s};\n", v.nm ? unit : "{0}");
    for (int k = 0; k < 2; ++k) {
        const char *name = k ? "level" : "own";
        fprintf(
            f,
            "static const soai_view_double gen_%s = {%d, %d, %d, %d, %d, %d, %d, {%.17g, %.17g, %.17g}, gen_%s_body, "
            "gen_%s_dof, gen_mimic};\n",
            name, v.nb, v.nq, v.nv, v.nd, v.nm, v.losses, v.stuck, v.gravity[0], v.gravity[1], v.gravity[2], name,
            name);
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
        for (int k = 0; k < m->nm; ++k) leads = leads && v.mimic[k].follower != i;
        fprintf(f, "%d,", leads);
    }
    fprintf(f, "%s};\n", m->tv ? "" : "0");
}

/* The functions of one number type: states in and out of tree coordinates, then the three sweeps. */
static const char loads[] =
    "typedef struct GEN(room) {\n"
    "    body_work b[GEN_NB + 1];\n"
    "    real c[6 * (GEN_NB + 1)], Rw[9 * (GEN_NB + 1)], pw[3 * (GEN_NB + 1)];\n"
    "    real sine[GEN_TQ + 4], cosine[GEN_TQ + 4], H[6 * GEN_TV + 1], U[6 * GEN_TV + 1], D[GEN_ND + 1], e[GEN_TV + "
    "1], x[GEN_TV + 1], S[6 * GEN_TV + 4];\n"
    "    real Y[GEN_NM * GEN_TV + 1], W[GEN_NM * GEN_NM + 1];\n"
    "    real q[GEN_TQ + 1], v[GEN_TV + 1], a[GEN_TV + 1], out[GEN_TV + 1];\n"
    "} GEN(room);\n"
    "#define GEN_WORK(r) {.b = r.b, .c = r.c, .sine = r.sine, .cosine = r.cosine, .H = r.H, .U = r.U, .D = r.D, .e = "
    "r.e, .x = r.x, .Rw = r.Rw, .pw = "
    "r.pw, .S = r.S, \\\n"
    "    .Y = r.Y, .W = r.W}\n"
    "/* Tree coordinates of SOAI_LANES states, `states` of them real, `stride` numbers apart; `out` or, where they are "
    "the "
    "caller's own, x. */\n"
    "SOAI_INLINE const real *GEN(load)(const double *x, long stride, int states, const gen_map *map, int n, int "
    "torque, real *out) {\n"
    "    (void)stride, (void)states, (void)map, (void)n, (void)torque;\n"
    "#if GEN_NM == 0 && SOAI_LANES == 1\n"
    "    (void)out;\n"
    "    return x;\n"
    "#elif GEN_NM == 0\n"
    "    lanes_pack(x, stride, n, states, out);\n"
    "    return out;\n"
    "#else\n"
    "    for (int t = 0; t < n; ++t) {\n"
    "        const double ratio = torque ? gen_leads[t] : map[t].ratio, offset = torque ? 0 : map[t].offset;\n"
    "#if SOAI_LANES > 1\n"
    "        for (int l = 0; l < SOAI_LANES; ++l) out[t][l] = ratio * x[stride * (l < states ? l : states - 1) + "
    "map[t].user] + offset;\n"
    "#else\n"
    "        out[t] = ratio * x[map[t].user] + offset;\n"
    "#endif\n"
    "    }\n"
    "    return out;\n"
    "#endif\n"
    "}\n"
    "#if SOAI_LANES > 1\n"
    "#define GEN_AT(x, l) ((x)[l])\n"
    "#else\n"
    "#define GEN_AT(x, l) (x)\n"
    "#endif\n"
    "SOAI_INLINE void GEN(store_motion)(const real *x, int states, double *out) {\n"
    "#if GEN_NM == 0 && SOAI_LANES > 1\n"
    "    lanes_unpack(x, GEN_TV, states, out, GEN_NV);\n"
    "    return;\n"
    "#endif\n"
    "    for (int l = 0; l < states; ++l)\n"
    "        for (int t = 0; t < GEN_TV; ++t)\n"
    "            if (gen_leads[t]) out[(long)GEN_NV * l + gen_map_v[t].user] = GEN_AT(x[t], l);\n"
    "}\n"
    "SOAI_INLINE void GEN(store_torque)(const real *x, int states, double *out) {\n"
    "#if GEN_NM == 0 && SOAI_LANES > 1\n"
    "    lanes_unpack(x, GEN_TV, states, out, GEN_NV);\n"
    "    return;\n"
    "#endif\n"
    "    for (int l = 0; l < states; ++l) {\n"
    "        for (int u = 0; u < GEN_NV; ++u) out[(long)GEN_NV * l + u] = 0;\n"
    "        for (int t = 0; t < GEN_TV; ++t) out[(long)GEN_NV * l + gen_map_v[t].user] += gen_map_v[t].ratio * "
    "GEN_AT(x[t], l);\n"
    "    }\n"
    "}\n";
static const char groups[] =
    "SOAI_INLINE int GEN(fd_group)(int states, const double *q, const double *v, const double *tau, double *qdd) {\n"
    "    GEN(room) r;\n"
    "    kernel_work w = GEN_WORK(r);\n"
    "    const real *tq = GEN(load)(q, GEN_NQ, states, gen_map_q, GEN_TQ, 0, r.q);\n"
    "    const real *tv = GEN(load)(v, GEN_NV, states, gen_map_v, GEN_TV, 0, r.v);\n"
    "    const real *ta = GEN(load)(tau, GEN_NV, states, gen_map_v, GEN_TV, 1, r.a);\n"
    "#if GEN_NM == 0 && SOAI_LANES == 1\n"
    "    (void)states;\n"
    "    return aba(&gen_level, &w, tq, tv, ta, 0, qdd);\n"
    "#else\n"
    "#if GEN_NM == 0 /* what has been read makes room: torques for innovations, these for accelerations */\n"
    "    real *const out = w.e = r.a;\n"
    "#else\n"
    "    real *const out = r.out;\n"
    "#endif\n"
    "    const int bad = aba(&gen_level, &w, tq, tv, ta, 0, out);\n"
    "    if (!bad) GEN(store_motion)(out, states, qdd);\n"
    "    return bad;\n"
    "#endif\n"
    "}\n"
    "SOAI_INLINE int GEN(id_group)(int states, const double *q, const double *v, const double *a, double *tau) {\n"
    "    GEN(room) r;\n"
    "    kernel_work w = GEN_WORK(r);\n"
    "    const real *tq = GEN(load)(q, GEN_NQ, states, gen_map_q, GEN_TQ, 0, r.q);\n"
    "    const real *tv = GEN(load)(v, GEN_NV, states, gen_map_v, GEN_TV, 0, r.v);\n"
    "    const real *ta = GEN(load)(a, GEN_NV, states, gen_map_v, GEN_TV, 0, r.a);\n"
    "#if GEN_NM == 0 && SOAI_LANES == 1\n"
    "    (void)states;\n"
    "    return rnea(&gen_level, &w, tq, tv, ta, 0, tau);\n"
    "#else\n"
    "    rnea(&gen_level, &w, tq, tv, ta, 0, r.out);\n"
    "    GEN(store_torque)(r.out, states, tau);\n"
    "    return 0;\n"
    "#endif\n"
    "}\n"
    "#if SOAI_LANES == 1 || !GEN_LEAVES\n"
    "/* tree: room for the matrix in tree coordinates, zero at the first call. */\n"
    "SOAI_INLINE int GEN(mass_group)(int states, const double *q, real *tree, double *M) {\n"
    "    GEN(room) r;\n"
    "    kernel_work w = GEN_WORK(r);\n"
    "    const real *tq = GEN(load)(q, GEN_NQ, states, gen_map_q, GEN_TQ, 0, r.q);\n"
    "#if GEN_NM == 0 && SOAI_LANES == 1\n"
    "    (void)states, (void)tree;\n"
    "    return GEN_MASS(&gen_level, &w, tq, M);\n"
    "#else\n"
    "    GEN_MASS(&gen_level, &w, tq, tree);\n"
    "#if GEN_NM == 0\n"
    "    lanes_unpack_symmetric(tree, GEN_TV, states, M);\n"
    "    return 0;\n"
    "#endif\n"
    "    for (int l = 0; l < states; ++l) {\n"
    "        double *out = M + (long)GEN_NV * GEN_NV * l;\n"
    "        for (int j = 0; j < GEN_NV * GEN_NV; ++j) out[j] = 0;\n"
    "        for (int i = 0; i < GEN_TV; ++i)\n"
    "            for (int j = 0; j < GEN_TV; ++j)\n"
    "                out[GEN_NV * gen_map_v[i].user + gen_map_v[j].user] += gen_map_v[i].ratio * gen_map_v[j].ratio * "
    "GEN_AT(tree[i > j ? GEN_TV * i + j : GEN_TV * j + i], l);\n"
    "    }\n"
    "    return 0;\n"
    "#endif\n"
    "}\n"
    "#endif\n";

static const char scalar_api[] =
    "int PREFIX_fd(const double *q, const double *v, const double *tau, double *qdd) { return GEN(fd_group)(1, q, v, "
    "tau, qdd); }\n"
    "int PREFIX_id(const double *q, const double *v, const double *a, double *tau) { return GEN(id_group)(1, q, v, a, "
    "tau); }\n"
    "int PREFIX_mass(const double *q, double *M) {\n"
    "    real tree[GEN_NM ? GEN_TV * GEN_TV : 1];\n"
    "    return GEN(mass_group)(1, q, tree, M);\n"
    "}\n"
    "int PREFIX_kinematics(const double *q, double *R, double *p) {\n"
    "    GEN(room) r;\n"
    "    kernel_work w = GEN_WORK(r);\n"
    "    positions(&gen_own, &w, GEN(load)(q, GEN_NQ, 1, gen_map_q, GEN_TQ, 0, r.q));\n"
    "    for (int i = 1; i <= GEN_NB; ++i) {\n"
    "        step_pose(&gen_own, &w, i);\n"
    "        for (int j = 0; j < 9; ++j) R[9 * (i - 1) + j] = r.Rw[9 * i + j];\n"
    "        for (int j = 0; j < 3; ++j) p[3 * (i - 1) + j] = r.pw[3 * i + j];\n"
    "    }\n"
    "    return 0;\n"
    "}\n"
    "int PREFIX_jacobian(const double *q, int body, double *J) {\n"
    "    GEN(room) r;\n"
    "    kernel_work w = GEN_WORK(r);\n"
    "    double tree[6 * GEN_TV + 1] = {0};\n"
    "    if (body < 1 || body > GEN_NB) return -1;\n"
    "    positions(&gen_own, &w, GEN(load)(q, GEN_NQ, 1, gen_map_q, GEN_TQ, 0, r.q));\n"
    "    for (int i = 1; i <= GEN_NB; ++i) step_pose(&gen_own, &w, i);\n"
    "    jacobian(&gen_own, &w, body, r.pw + 3 * body, tree);\n"
    "    for (int i = 0; i < 6; ++i) GEN(store_torque)(tree + GEN_TV * i, 1, J + GEN_NV * i);\n"
    "    return 0;\n"
    "}\n";

/* Mass matrices that leave the lanes branch by branch, see put_leaving. */
static const char leaving[] =
    "#if GEN_LEAVES\n"
    "/* Numbers `end` ... of the matrices stand in the lanes; those from `next` on have left them.  Lines ahead are "
    "asked "
    "for. */\n"
    "static __attribute__((noinline)) long GEN(leave)(const real *tree, long next, long end, double *M) {\n"
    "    while (next - 8 >= end || (!end && next)) {\n"
    "        const real *x[8];\n"
    "        next = next < 8 ? 0 : next - 8; /* the first eight may go twice */\n"
    "        double *ahead = M + (next > GEN_AHEAD ? next - GEN_AHEAD : 0);\n"
    "        SOAI_UNROLL for (int l = 0; l < SOAI_LANES; ++l) __builtin_prefetch(ahead + (long)GEN_TV * GEN_TV * l, "
    "1);\n"
    "        SOAI_UNROLL for (int j = 0; j < 8; ++j) x[j] = tree + gen_from[next + j];\n"
    "        lanes_leave(x, M + next, (long)GEN_TV * GEN_TV);\n"
    "    }\n"
    "    return next;\n"
    "}\n"
    "/* tree: room for the matrix; its last number is zero.  Branch by branch: angles, columns, then its rows leave. "
    "*/\n"
    "SOAI_INLINE int GEN(mass_group)(int states, const double *q, real *tree, double *M) {\n"
    "    GEN(room) r;\n"
    "    kernel_work work = GEN_WORK(r), *w = &work;\n"
    "    const view_table *k = &gen_level;\n"
    "    const long all = (long)GEN_TV * GEN_TV;\n"
    "    const int whole = states == SOAI_LANES, in_M = columns_in_M(k);\n"
    "    const real *tq = GEN(load)(q, GEN_NQ, states, gen_map_q, GEN_TQ, 0, r.q);\n"
    "    long next = all;\n"
    "    for (int l = 0; whole && l < SOAI_LANES; ++l)\n"
    "        for (int j = 8; j <= GEN_AHEAD; j += 8) __builtin_prefetch(M + all * (l + 1) - j, 1);\n"
    "#ifdef GEN_CHAIN\n"
    "    for (const gen_branch *branch = gen_branches; branch->last; ++branch) {\n"
    "        angles_row(w, tq, branch->angle, branch->angle_end);\n"
    "        columns_outward(k, w, branch->first, branch->last, tq);\n"
    "        for (int n = branch->last - 1; n >= branch->first - 1; --n)\n"
    "            GEN_CHAIN(k, gen_order_chains, columns_inward(k, w, chain, links, outermost, i, in_M, tree))\n"
    "        if (whole) next = GEN(leave)(tree, next, branch->stands, M);\n"
    "    }\n"
    "#else\n"
    "    angles(k, w, tq);\n"
    "    columns_outward(k, w, 1, GEN_NB, tq);\n"
    "    SOAI_INWARD(k, columns_inward(k, w, &b, 1, 1, i, in_M, tree))\n"
    "    if (whole) next = GEN(leave)(tree, next, 0, M);\n"
    "#endif\n"
    "    for (long l = 0; !whole && l < states; ++l)\n"
    "        for (long j = 0; j < all; ++j) M[all * l + j] = tree[gen_from[j]][l];\n"
    "    return 0;\n"
    "}\n"
    "#endif\n";

static const char batch_api[] =
    "#define GEN_GROUPS(call)                                                                        \\\n"
    "    for (long s = 0; s < n; s += SOAI_LANES) {                                                  \\\n"
    "        const int states = n - s < SOAI_LANES ? (int)(n - s) : SOAI_LANES;                      \\\n"
    "        const int bad = call;                                                                   \\\n"
    "        if (bad) return bad;                                                                    \\\n"
    "    }                                                                                           \\\n"
    "    return 0;\n"
    "int PREFIX_fd_batch(long n, const double *q, const double *v, const double *tau, double *qdd) {\n"
    "    GEN_GROUPS(GEN(fd_group)(states, q + s * GEN_NQ, v + s * GEN_NV, tau + s * GEN_NV, qdd + s * GEN_NV))\n"
    "}\n"
    "int PREFIX_id_batch(long n, const double *q, const double *v, const double *a, double *tau) {\n"
    "    GEN_GROUPS(GEN(id_group)(states, q + s * GEN_NQ, v + s * GEN_NV, a + s * GEN_NV, tau + s * GEN_NV))\n"
    "}\n"
    "int PREFIX_mass_batch(long n, const double *q, double *M) {\n"
    "#if GEN_TV > 128 /* too large for lanes, and for the stack */\n"
    "    for (long s = 0; s < n; ++s) {\n"
    "        const int bad = PREFIX_mass(q + s * GEN_NQ, M + s * GEN_NV * GEN_NV);\n"
    "        if (bad) return bad;\n"
    "    }\n"
    "    return 0;\n"
    "#else\n"
    "    real tree[GEN_TV * GEN_TV + 1];\n"
    "    for (int j = GEN_LEAVES ? GEN_TV * GEN_TV : 0; j <= GEN_TV * GEN_TV; ++j) tree[j] = REAL(0);\n"
    "    GEN_GROUPS(GEN(mass_group)(states, q + s * GEN_NQ, tree, M + s * GEN_NV * GEN_NV))\n"
    "#endif\n"
    "}\n";

/* `text` with PREFIX replaced. */
static void put_api(FILE *f, const char *text, const char *prefix) {
    for (const char *at; (at = strstr(text, "PREFIX")); text = at + 6) {
        fwrite(text, 1, (size_t)(at - text), f);
        fputs(prefix, f);
    }
    fputs(text, f);
}

/* Are there angles among a joint's coordinates?  joint_turns() in joint.h */
static int turns(int kind) {
    return kind != SOAI_KIND_PRISMATIC && kind != SOAI_KIND_SPHERICAL && kind != SOAI_KIND_FREE;
}
/* Rows of coordinates that are angles, see angles() in joint.h. */
static void put_angles(FILE *f, const soai_view_double v) {
    int rows = 0;
    fprintf(f, "#define SOAI_ANGLES ");
    for (int i = 1; i <= v.nb; ++i) {
        const int first = v.body[i].iq;
        int end = first;
        for (; i <= v.nb && v.body[i].iq == end && turns(v.body[i].kind); ++i) end += v.body[i].nv;
        if (end == first) continue;
        fprintf(f, "%s{%d, %d}", rows++ ? ", " : "", first, end);
        --i;
    }
    fprintf(f, "%s\n", rows ? "" : "{0, 0}");
}

/* ---- which bodies share code ----
 *
 * Bodies built alike share one copy of each sweep's step, in which all that they have in common is known to the compiler.
 * The finer the distinction the better the code, but the more of it: what is run once from end to end is read no faster
 * than some 13 bytes in a cycle, and beyond the instruction cache much slower.  So a model takes the first of these
 * distinctions that leaves few enough copies. */
enum { EACH, BUILD, KIND, NONE };
enum { ONE_STATE, LANES_OF_4, LANES_OF_8 };
static const int most_of[NONE] = {[EACH] = 10, [BUILD] = 16, [KIND] = 16};
enum {
    MOST_OF_8 = 13
}; /* EACH in lanes of eight, which take less text: every number has a register of its own more often */
typedef struct sharing {
    int by, bodies;
    int own;     /* bodies that differ in it are not alike: lanes, whose inward step of aba asks for it */
    int *order;  /* of the bodies in the outward sweep */
    int *across; /* of the same by depth, limbs side by side */
    int *like;   /* of body i: the first in that order with the same step */
    int *links;  /* of the chain that body i goes through at one step, see share_chains; 1 elsewhere */
} sharing;

/* Level bodies whose only child is a pivot, see steps.h. */
static void mark_own(int bodies, soai_body_double *body) {
    for (int i = 1; i <= bodies; ++i) body[i].own = 0;
    for (int i = 1; i <= bodies; ++i) {
        soai_body_double *b = body + i, *in = body + b->parent;
        if (!b->parent || !(b->starts & SOAI_STARTS_WITH)) continue; /* others have brothers, see start_before */
        if (b->kind < SOAI_KIND_PIVOT_X || in->kind < SOAI_KIND_LEVEL_X) continue;
        in->own |= 1 + b->kind - SOAI_KIND_PIVOT_X, b->own |= SOAI_P_SPARED;
    }
}
/* The steps of several children of one body must be alike but for who starts its sums. */
static void start_before(int bodies, soai_body_double *body) {
    for (int i = 1; i <= bodies; ++i) {
        const int last = body[body[i].parent].child;
        if (last != i && body[last].starts) body[last].starts = SOAI_STARTS_BEFORE;
    }
}
static int alike(const soai_body_double *a, const soai_body_double *b, const sharing *s) {
    return s->by != EACH && a->kind == b->kind && a->type == b->type && a->nv == b->nv && a->rotor == b->rotor &&
           !a->parent == !b->parent &&
           (s->by == KIND || ((a->starts & SOAI_STARTS_WITH) == (b->starts & SOAI_STARTS_WITH) &&
                              a->levers == b->levers && !a->child == !b->child && (!s->own || a->own == b->own)));
}
/* No body further out goes through this one in its chain? */
static int outermost(const sharing *s, int i) {
    return i == s->bodies || s->links[i + 1] == 1;
}
static int alike_chains(const soai_view_double v, const sharing *s, int i, int j) {
    int fit = s->links[i] == s->links[j] && outermost(s, i) == outermost(s, j);
    for (int d = 0; fit && d < s->links[i]; ++d) fit = alike(v.body + i - d, v.body + j - d, s);
    return fit;
}
/* Returns the number of copies. */
static int share_by(const soai_view_double v, int by, sharing *s) {
    int copies = 0;
    s->by = by;
    for (int n = 0; n < v.nb; ++n) {
        int m = 0;
        while (m < n && !alike_chains(v, s, s->order[n], s->order[m])) ++m;
        s->like[s->order[n]] = s->order[m];
        copies += m == n;
    }
    return copies;
}
/* One state is swept by depth, so that neighbours seldom wait for one another; lanes, whose work fills the nearest cache,
 * branch by branch as the bodies are numbered (soai_level), but where nothing stands by place on the path (ACROSS). */
static void share(const soai_view_double v, int states, sharing *s) {
    int *depth = s->like, deepest = 0, n = 0; /* like is written later */
    s->bodies = v.nb, s->own = states != ONE_STATE, depth[0] = 0;
    for (int i = 1; i <= v.nb; ++i) s->links[i] = 1;
    for (int i = 1; i <= v.nb; ++i) {
        depth[i] = depth[v.body[i].parent] + 1;
        if (depth[i] > deepest) deepest = depth[i];
    }
    for (int d = 1; d <= deepest; ++d)
        for (int i = 1; i <= v.nb; ++i)
            if (depth[i] == d) s->across[n++] = i;
    for (int i = 0; i < v.nb; ++i) s->order[i] = states == ONE_STATE ? s->across[i] : i + 1;
    for (int by = EACH; by < NONE; ++by)
        if (share_by(v, by, s) <= (by == EACH && states == LANES_OF_8 ? MOST_OF_8 : most_of[by])) return;
    s->by = NONE;
}
/* Is the matrix complete from the rows of body i on when it is swept?  Its parent is the world, or the one free root. */
static int branches(const soai_view_double v, int i) {
    const int one_root = v.body[1].kind == SOAI_KIND_FREE && v.body[1].end == v.nv; /* columns_in_M */
    return !v.body[i].parent || (one_root && v.body[i].parent == 1);
}
/* For columns of mass matrices: bodies that follow one another without a branch between are gone through at one step, so
 * that a column stays in registers.  Such chains have few links, or one, if there would be too many copies. */
static void share_chains(const soai_view_double v, sharing *s) {
    const int by = s->by;
    s->own = 0;
    for (int most = 6;; most = 1) {
        for (int i = 1; i <= v.nb; ++i) {
            const int parent = v.body[i].parent;
            int children = 0;
            for (int j = 1; j <= v.nb; ++j) children += v.body[j].parent == parent;
            const int follows = children == 1 && parent == i - 1 && !branches(v, i);
            s->links[i] = follows && s->links[i - 1] < most ? s->links[i - 1] + 1 : 1;
        }
        if (share_by(v, by, s) <= most_of[by]) return;
        if (most == 1) break;
    }
    s->by = NONE;
}

/* The row of body i, one of those like body `first`: a copy, known to the compiler, of that body's, in which what differs is read from
 * the table, or counted where it grows with the body's number.  Or, as row1 ..., that of the body `in` before it. */
static void put_row(FILE *f, const soai_view_double v, const sharing *s, int first, int in) {
#define AT_(name) #name, offsetof(soai_body_double, name)
    static const struct {
        const char *name;
        size_t offset;
    } ints[] = {{AT_(parent)}, {AT_(iq)},  {AT_(iv)},   {AT_(id)},      {AT_(child)},
                {AT_(run)},    {AT_(end)}, {AT_(path)}, {AT_(path_in)}, {AT_(levers)}};
    static const struct {
        const char *name;
        size_t offset;
        int count;
    } numbers[] = {{AT_(R0), 9},    {AT_(R1), 9}, {AT_(R2), 9},       {AT_(p), 3},     {AT_(axis), 3},
                   {AT_(slide), 3}, {AT_(M), 10}, {AT_(armature), 1}, {AT_(hinge), 1}, {AT_(P), 24}};
#undef AT_
    const char *const row = (const char *)(v.body + first - in);
    char name[24] = "row", own[24] = "own";
    if (in) snprintf(name, sizeof name, "row%d", in), snprintf(own, sizeof own, "own[-%d]", in);
    fprintf(f, " body_table %s = (k)->body[%d];", name, first - in);
    if (!in) fprintf(f, " const body_table *own = (k)->body + i, *b = &row; (void)own;");
    for (size_t n = 0; n < sizeof ints / sizeof *ints; ++n) {
        const int *x = (const int *)(const void *)(row + ints[n].offset);
        int same = 1, even = 1; /* in all; as far from the body's number in all */
        for (int i = 1; i <= v.nb; ++i) {
            const int *y = (const int *)(const void *)((const char *)(v.body + i - in) + ints[n].offset);
            if (s->like[i] == first) same = same && *y == *x, even = even && *y - i == *x - first;
        }
        if (same) continue;
        fprintf(f, " %s.%s = ", name, ints[n].name);
        if (even)
            fprintf(f, "i + %d;", *x - first);
        else
            fprintf(f, "%s%s%s;", own, in ? "." : "->", ints[n].name);
    }
    int starts = 1; /* in all as in the first */
    for (int i = 1; i <= v.nb; ++i)
        starts = starts && (s->like[i] != first || v.body[i].starts == v.body[first].starts);
    if (!starts && !in) fprintf(f, " row.starts = own->starts ? SOAI_STARTS_BEFORE : 0;"); /* one text for both */
    for (size_t n = 0; n < sizeof numbers / sizeof *numbers; ++n)
        for (int c = 0; c < numbers[n].count; ++c) {
            const size_t place = numbers[n].offset + sizeof(double) * (size_t)c;
            int same = 1;
            for (int i = 1; i <= v.nb; ++i)
                if (s->like[i] == first)
                    same = same && !memcmp((const char *)(v.body + i - in) + place, row + place, sizeof(double));
            char index[16] = "";
            if (numbers[n].count > 1) snprintf(index, sizeof index, "[%d]", c);
            if (!same)
                fprintf(f, " %s.%s%s = %s%s%s%s;", name, numbers[n].name, index, own, in ? "." : "->", numbers[n].name,
                        index);
        }
}
/* What the sweeps of the kernels (joint.h) become. */
static void put_each(FILE *f, const sharing *s) {
    static const char step[] = " { enum { i = %d }; const body_table *b = (k)->body + i; __VA_ARGS__; }";
    for (int across = 0; across < 2; ++across) {
        const int *order = across ? s->across : s->order;
        const char *suffix = across ? "_ACROSS" : "";
        fprintf(f, "#define SOAI_OUTWARD%s(k, ...)", suffix);
        for (int n = 0; n < s->bodies; ++n) fprintf(f, step, order[n]);
        fprintf(f, "\n#define SOAI_INWARD%s(k, ...)", suffix);
        for (int n = s->bodies - 1; n >= 0; --n) fprintf(f, step, order[n]);
        fprintf(f, "\n");
    }
}
/* The bodies in an order of the outward sweep, each with the first that has the same step. */
static void put_order(FILE *f, const sharing *s, const int *order, const char *name, const char *suffix) {
    fprintf(f, "static const unsigned short %s%s[][2] = {", name, suffix);
    for (int n = 0; n < s->bodies; ++n) fprintf(f, "%s{%d, %d}", n ? ", " : "", order[n], s->like[order[n]]);
    fprintf(f, "};\n");
}
/* GEN_<name>(k, order, statement): the statement about body number n of the order, i, with row b; with its chain, if asked
 * for. */
static void put_steps(FILE *f, const soai_view_double v, const sharing *s, const char *name, int chains) {
    fprintf(f, "#define GEN_%s(k, order, ...) switch (order[n][1]) {", name);
    for (int n = 0; n < s->bodies; ++n) {
        const int i = s->order[n], links = s->links[i];
        int others = 0;
        for (int m = n + 1; m < s->bodies; ++m) others += s->like[s->order[m]] == i;
        if (s->like[i] != i) continue;
        fprintf(f, " \\\n    case %d: {", i);
        if (others) {
            fprintf(f, " const int i = order[n][0];");
            for (int d = 0; d < links; ++d) put_row(f, v, s, i, d);
        } else {
            fprintf(f, " enum { i = %d }; const body_table *b = (k)->body + i;", i);
        }
        if (chains) {
            fprintf(f, " enum { links = %d, outermost = %d }; const body_table *const chain[] = {b", links,
                    outermost(s, i));
            for (int d = 1; d < links; ++d) fprintf(f, others ? ", &row%d" : ", b - %d", d);
            fprintf(f, "};");
        }
        fprintf(f, " __VA_ARGS__; break; }");
    }
    fprintf(f, " \\\n    default: __builtin_unreachable(); }\n");
}
static void put_sweeps(FILE *f, const soai_view_double v, const sharing *s, const char *name) {
    if (s->by == EACH) put_each(f, s);
    if (s->by == EACH || s->by == NONE) return;
    put_order(f, s, s->order, name, "");
    put_order(f, s, s->across, name, "_across");
    put_steps(f, v, s, "STEP", 0);
    for (int across = 0; across < 2; ++across) {
        const char *suffix = across ? "_ACROSS" : "", *order = across ? "_across" : "";
        fprintf(f,
                "#define SOAI_OUTWARD%s(k, ...) for (int n = 0; n < %d; ++n) GEN_STEP(k, %s%s, __VA_ARGS__)\n"
                "#define SOAI_INWARD%s(k, ...) for (int n = %d; n >= 0; --n) GEN_STEP(k, %s%s, __VA_ARGS__)\n",
                suffix, s->bodies, name, order, suffix, s->bodies - 1, name, order);
    }
}

/* Mass matrices that leave the lanes branch by branch: those formed by columns, neither small enough to stand there whole
 * (MASS_SMALL in crba.h) nor so large that the table would fill the nearest cache. */
static int leaves(const soai_view_double v) {
    return !v.nm && v.nv > 12 && v.nv <= 64 && soai_by_columns(v.nb, v.body);
}
/* gen_from: where number j of a matrix stands in the lanes, which hold what is on or below the diagonal; one past their end
 * is zero. */
static void put_from(FILE *f, const soai_view_double v) {
    const int n = v.nv;
    fprintf(f, "enum { GEN_AHEAD = 16 };\nstatic const unsigned short gen_from[] = {");
    for (int i = 0; i < n * n; ++i) {
        const int r = i / n > i % n ? i / n : i % n, c = i / n + i % n - r;
        int a = 1, b = 1; /* their bodies */
        while (v.body[b].iv + v.body[b].nv <= r) ++b;
        while (v.body[a].iv + v.body[a].nv <= c) ++a;
        while (b > a) b = v.body[b].parent;
        fprintf(f, "%d,", a == b ? n * r + c : n * n);
    }
    fprintf(f, "};\n");
}
/* gen_branches: the last branch first; its bodies, coordinates among which are its angles, and the number from which on the
 * matrix stands when the branch is swept. */
static void put_branches(FILE *f, const soai_view_double v) {
    fprintf(f, "typedef struct gen_branch { int first, last, angle, angle_end, stands; } gen_branch;\n"
               "static const gen_branch gen_branches[] = {");
    for (int first = v.nb, last = v.nb; first; --first) {
        int angle = 0, angle_end = 0;
        if (!branches(v, first)) continue;
        for (int i = last; i >= first; --i) {
            if (!turns(v.body[i].kind)) continue;
            if (!angle_end) angle_end = v.body[i].iq + v.body[i].nv;
            angle = v.body[i].iq;
        }
        fprintf(f, "{%d, %d, %d, %d, %d}, ", first, last, angle, angle_end, v.nv * v.body[first].iv);
        last = first - 1;
    }
    fprintf(f, "{0}};\n");
}
static void put_leaving(FILE *f, const soai_view_double v, sharing *s) {
    put_from(f, v);
    if (s->by == BUILD || s->by == KIND) share_chains(v, s);
    if (s->by != BUILD && s->by != KIND) return;
    put_branches(f, v);
    put_order(f, s, s->order, "gen_order_chains", "");
    put_steps(f, v, s, "CHAIN", 1);
}

/* A name inside a comment: it can neither end it nor its line. */
static void put_name(FILE *f, const char *name) {
    for (const char *c = name; *c; ++c)
        fputc(iscntrl((unsigned char)*c) || (*c == '/' && c > name && c[-1] == '*') ? ' ' : *c, f);
}

static void put_file(FILE *f, const soa_model *m, const soai_view_double level, sharing *s, const char *prefix) {
    const soai_view_double own = soai_model_view(m);
    unsigned kinds = 0;
    for (int i = 1; i <= m->nb; ++i) kinds |= 1u << own.body[i].kind | 1u << level.body[i].kind;
    fprintf(f, "/* %s.c  dynamics of the model \"", prefix);
    put_name(f, soa_model_name(m));
    fprintf(f,
            "\", generated by soa %s: self-contained C11 (GCC or Clang), nothing but libm.\n"
            " *\n"
            " * nq %d, nv %d, bodies %d.  Coordinates as in the library (docs/notation.md).  No call allocates or "
            "checks its\n"
            " * input; give finite numbers and unit quaternions.  Each returns 0, the number of a body that moves no "
            "inertia, or\n * -1 for a body that is not there.\n"
            " *   int %s_fd(q, v, tau, qdd)          forward dynamics\n"
            " *   int %s_id(q, v, a, tau)            inverse dynamics\n"
            " *   int %s_mass(q, M)                  mass matrix, nv x nv, row by row\n"
            " *   int %s_kinematics(q, R, p)         pose of every body: 9 and 3 numbers each\n"
            " *   int %s_jacobian(q, body, J)        6 x nv, angular rows first, world axes, at the body's origin\n"
            " *   int %s_{fd,id,mass}_batch(n, ...)  n states, state after state, four or (AVX-512) eight at a time\n"
            " * Bodies: ",
            soa_version(), m->nq, m->nv, m->nb, prefix, prefix, prefix, prefix, prefix, prefix);
    for (int i = 1; i <= m->nb; ++i) {
        soa_body_info info;
        soa_body(m, i, &info);
        fprintf(f, "%s%d ", i > 1 ? ", " : "", i);
        put_name(f, info.link);
    }
    fprintf(
        f,
        ".\n * Compile with optimisation for the processor at hand, e.g. -O3 -march=native; the lines below ask for "
        "the rest.  */\n"
        "#if defined(__GNUC__) && !defined(__clang__)\n"
        "#pragma GCC optimize(\"O3\", \"no-signed-zeros\", \"finite-math-only\", \"no-math-errno\", "
        "\"no-trapping-math\", \"no-tree-slp-vectorize\", \"no-tree-pre\", \"no-code-hoisting\", "
        "\"fp-contract=fast\")\n"
        "#pragma GCC diagnostic ignored \"-Wpsabi\"\n"
        "#pragma GCC diagnostic ignored \"-Wmaybe-uninitialized\" /* it cannot count the joints' parts */\n"
        "#pragma GCC diagnostic ignored \"-Warray-bounds\" /* nor the columns of a matrix */\n"
        "#elif defined(__clang__) /* loops of unknown length stay loops */\n"
        "#pragma clang diagnostic ignored \"-Wpass-failed\"\n#pragma clang diagnostic ignored \"-Wpsabi\"\n#endif\n"
        "#include <stddef.h>\n#ifdef __AVX512F__\n#include <immintrin.h>\n#endif\n#define SOAI_GENERATED 1\n"
        "#define GEN_NB %d\n#define GEN_NQ %d\n#define GEN_NV %d\n#define GEN_TQ %d\n#define GEN_TV %d\n#define "
        "GEN_ND %d\n#define GEN_NM %d\n#define GEN_MASS %s\n#define GEN_LEAVES %d\n",
        m->nb, m->nq, m->nv, m->tq, m->tv, m->nd, level.nm, soai_by_columns(m->nb, own.body) ? "mass_columns" : "crba",
        leaves(level));
    put_angles(f, own);
    fprintf(f,
            "\n/* ---- one state ---------------------------------------------------------------- */\n#define "
            "SOAI_NUMBER SOAI_DOUBLE\n#define SOAI_KINDS 0x%x\n",
            kinds);
    share(level, ONE_STATE, s);
    put_sweeps(f, level, s, "gen_order");
    put_kernels(f);
    fprintf(f, "\n/* ---- the model ---------------------------------------------------------------- */\n");
    put_tables(f, m, own, level);
    fprintf(f, "#define GEN(name) gen_##name\n%s%s", loads, groups);
    put_api(f, scalar_api, prefix);
    fprintf(f, "\n/* ---- four states in lanes: the same text under other names ------------------- */\n"
               "#if defined(__tune_znver3__) && defined(__AVX512F__) && !defined(__clang__)\n"
               "#pragma GCC target(\"tune=icelake-server\") /* a Zen 4 that the compiler takes for a Zen 3, without "
               "AVX-512 */\n"
               "#endif\n#undef "
               "GEN\n#undef GEN_STEP\n#undef GEN_WORK\n#undef GEN_AT\n#undef SOAI_NUMBER\n");
    each_name(f, 'm', put_undef);
    each_name(f, 'f', put_rename);
    fprintf(f, "#define SOAI_NUMBER SOAI_DOUBLE_LANES\n#define SOAI_KINDS 0x%x\n", kinds);
    share(level, LANES_OF_8, s);
    const int wide = s->by;
    if (wide == EACH) {
        share(level, LANES_OF_4, s);
        if (s->by != wide) fprintf(f, "#ifdef __AVX512F__\n"), put_each(f, s), fprintf(f, "#else\n");
    }
    put_sweeps(f, level, s, "gen_order_lanes");
    if (s->by != wide) fprintf(f, "#endif\n");
    put_kernels(f);
    if (leaves(level)) put_leaving(f, level, s);
    fprintf(f, "#define GEN(name) gen_lanes_##name\n%s%s%s", loads, groups, leaving);
    put_api(f, batch_api, prefix);
}

soa_status soa_generate_c(const soa_model *model, const char *prefix, const char *path, soa_report *report) {
    if (!model || !prefix || !path) return soai_report(report, SOA_E_ARGUMENT, -1, 0, "no model, prefix or path");
    int fits = isalpha((unsigned char)*prefix) || *prefix == '_';
    for (const char *c = prefix; *c; ++c) fits = fits && (isalnum((unsigned char)*c) || *c == '_');
    if (!fits)
        return soai_report(report, SOA_E_NAME, -1, 0, "\"%s\" is not a C name; letters, digits and _ only", prefix);
    if (soa_body_count(model) > 1000)
        return soai_report(report, SOA_E_ARGUMENT, -1, 0,
                           "%d bodies: generated code keeps its work space on the stack and takes at most 1000",
                           soa_body_count(model));
    soai_view_double level = soai_model_view(model);
    const size_t B = (size_t)level.nb + 1;
    soai_body_double *body = malloc(B * sizeof *body);
    soai_dof_double *dof = malloc(((size_t)level.nv + 1) * sizeof *dof);
    soai_frame *frames = malloc(B * sizeof *frames);
    sharing s = {.order = malloc(B * sizeof(int)),
                 .across = malloc(B * sizeof(int)),
                 .like = malloc(B * sizeof(int)),
                 .links = malloc(B * sizeof(int))};
    const int memory = body && dof && frames && s.order && s.across && s.like && s.links;
    FILE *f = memory ? fopen(path, "w") : NULL;
    if (f) {
        soai_level(&level, body, dof, frames);
        soai_regroup(level.nb, body);
        start_before(level.nb, body);
        mark_own(level.nb, body);
        level.body = body, level.dof = dof;
        share(level, LANES_OF_4, &s);
        for (int i = 1; s.by > BUILD && i <= level.nb; ++i) body[i].own = 0; /* bodies that differ in it share steps */
        put_file(f, model, level, &s, prefix);
    }
    free(body), free(dof), free(frames), free(s.order), free(s.across), free(s.like), free(s.links);
    if (!memory) return soai_report(report, SOA_E_MEMORY, -1, 0, "no memory");
    if (!f) return soai_report(report, SOA_E_FILE, -1, 0, "%s: cannot be written: %s", path, strerror(errno));
    const int bad = ferror(f);
    if (fclose(f) || bad) {
        const int why = errno;
        remove(path);
        return soai_report(report, SOA_E_FILE, -1, 0, "%s: writing failed: %s", path, strerror(why));
    }
    return SOA_OK;
}
