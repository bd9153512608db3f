/* generate_sweeps.c  the sweeps of generated code: which bodies share the text of a step, and that
 *                    text.
 *
 * Bodies built alike share one copy of each sweep's step, in which all that they have in common is
 * known to the compiler.  The finer the distinction the better the code, but the more of it: what
 * is run once from end to end is read no faster than some 13 bytes in a cycle, and beyond the
 * instruction cache much slower.  So a model takes the first of the distinctions in soai_gen_by
 * that leaves few enough copies. */
#include "generate.h"

static const int most_of[SOAI_GEN_NONE] = {
    [SOAI_GEN_EACH] = 10, [SOAI_GEN_BUILD] = 16, [SOAI_GEN_KIND] = 16};
/* EACH in lanes of eight, which take less text: every number has a register of its own more
 * often. */
enum { MOST_OF_8 = 13 };

/* Level bodies whose only child is a pivot, see steps.h. */
static void mark_own(int bodies, soai_body_double *body) {
    for (int i = 1; i <= bodies; ++i)
        body[i].own = 0;
    for (int i = 1; i <= bodies; ++i) {
        soai_body_double *b = body + i, *in = body + b->parent;
        /* others have brothers, see start_before */
        if (!b->parent || !(b->starts & SOAI_STARTS_WITH)) continue;
        if (b->kind < SOAI_KIND_PIVOT_X || in->kind < SOAI_KIND_LEVEL_X) continue;
        in->own |= 1 + b->kind - SOAI_KIND_PIVOT_X;
        b->own |= SOAI_P_SPARED;
    }
}
/* The steps of several children of one body must be alike but for who starts its sums. */
static void start_before(int bodies, soai_body_double *body) {
    for (int i = 1; i <= bodies; ++i) {
        const int last = body[body[i].parent].child;
        if (last != i && body[last].starts) body[last].starts = SOAI_STARTS_BEFORE;
    }
}
void soai_gen_mark(int bodies, soai_body_double *body) {
    start_before(bodies, body);
    mark_own(bodies, body);
}
static int alike(const soai_body_double *a, const soai_body_double *b, const soai_gen_sharing *s) {
    return s->by != SOAI_GEN_EACH && a->kind == b->kind && a->type == b->type && a->nv == b->nv &&
           a->rotor == b->rotor && !a->parent == !b->parent &&
           (s->by == SOAI_GEN_KIND ||
            ((a->starts & SOAI_STARTS_WITH) == (b->starts & SOAI_STARTS_WITH) &&
             a->levers == b->levers && !a->child == !b->child && (!s->own || a->own == b->own)));
}
/* No body further out goes through this one in its chain? */
static int outermost(const soai_gen_sharing *s, int i) {
    return i == s->bodies || s->links[i + 1] == 1;
}
static int alike_chains(const soai_view_double v, const soai_gen_sharing *s, int i, int j) {
    int fit = s->links[i] == s->links[j] && outermost(s, i) == outermost(s, j);
    for (int d = 0; fit && d < s->links[i]; ++d)
        fit = alike(v.body + i - d, v.body + j - d, s);
    return fit;
}
/* Returns the number of copies. */
static int share_by(const soai_view_double v, soai_gen_by by, soai_gen_sharing *s) {
    int copies = 0;
    s->by = by;
    for (int n = 0; n < v.nb; ++n) {
        int m = 0;
        while (m < n && !alike_chains(v, s, s->order[n], s->order[m]))
            ++m;
        s->like[s->order[n]] = s->order[m];
        copies += m == n;
    }
    return copies;
}
/* One state is swept by depth, so that neighbours seldom wait for one another; lanes, whose work
 * fills the nearest cache, branch by branch as the bodies are numbered (soai_level), but where
 * nothing stands by place on the path (ACROSS). */
void soai_gen_share(const soai_view_double v, soai_gen_states states, soai_gen_sharing *s) {
    int *depth = s->like, deepest = 0, n = 0; /* like is written later */
    s->bodies = v.nb;
    s->own = states != SOAI_GEN_ONE_STATE;
    depth[0] = 0;
    for (int i = 1; i <= v.nb; ++i)
        s->links[i] = 1;
    for (int i = 1; i <= v.nb; ++i) {
        depth[i] = depth[v.body[i].parent] + 1;
        if (depth[i] > deepest) deepest = depth[i];
    }
    for (int d = 1; d <= deepest; ++d)
        for (int i = 1; i <= v.nb; ++i)
            if (depth[i] == d) s->across[n++] = i;
    for (int i = 0; i < v.nb; ++i)
        s->order[i] = states == SOAI_GEN_ONE_STATE ? s->across[i] : i + 1;
    for (soai_gen_by by = SOAI_GEN_EACH; by < SOAI_GEN_NONE; ++by)
        if (share_by(v, by, s) <=
            (by == SOAI_GEN_EACH && states == SOAI_GEN_LANES_OF_8 ? MOST_OF_8 : most_of[by]))
            return;
    s->by = SOAI_GEN_NONE;
}
/* Is the matrix complete from the rows of body i on when it is swept?  Its parent is the world, or
 * the one free root. */
static int branches(const soai_view_double v, int i) {
    /* columns_in_M */
    const int one_root = v.body[1].kind == SOAI_KIND_FREE && v.body[1].end == v.nv;
    return !v.body[i].parent || (one_root && v.body[i].parent == 1);
}
/* For columns of mass matrices: bodies that follow one another without a branch between are gone
 * through at one step, so that a column stays in registers.  Such chains have few links, or one, if
 * there would be too many copies. */
static void share_chains(const soai_view_double v, soai_gen_sharing *s) {
    const soai_gen_by by = s->by;
    s->own = 0;
    for (int most = 6;; most = 1) {
        for (int i = 1; i <= v.nb; ++i) {
            const int parent = v.body[i].parent;
            int children = 0;
            for (int j = 1; j <= v.nb; ++j)
                children += v.body[j].parent == parent;
            const int follows = children == 1 && parent == i - 1 && !branches(v, i);
            s->links[i] = follows && s->links[i - 1] < most ? s->links[i - 1] + 1 : 1;
        }
        if (share_by(v, by, s) <= most_of[by]) return;
        if (most == 1) break;
    }
    s->by = SOAI_GEN_NONE;
}

/* The row of body i, one of those like body `first`: a copy, known to the compiler, of that body's,
 * in which what differs is read from the table, or counted where it grows with the body's number.
 * Or, as row1 ..., that of the body `in` before it. */
static void put_row(FILE *f, const soai_view_double v, const soai_gen_sharing *s, int first,
                    int in) {
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
    } numbers[] = {{AT_(R0), 9},    {AT_(R1), 9},    {AT_(R2), 9}, {AT_(p), 3},
                   {AT_(axis), 3},  {AT_(slide), 3}, {AT_(M), 10}, {AT_(armature), 1},
                   {AT_(hinge), 1}, {AT_(P), 24}};
#undef AT_
    const char *const row = (const char *)(v.body + first - in);
    char name[24] = "row", own[24] = "own";
    if (in) {
        snprintf(name, sizeof name, "row%d", in);
        snprintf(own, sizeof own, "own[-%d]", in);
    }
    fprintf(f, " body_table %s = (k)->body[%d];", name, first - in);
    if (!in) fprintf(f, " const body_table *own = (k)->body + i, *b = &row; (void)own;");
    for (size_t n = 0; n < sizeof ints / sizeof *ints; ++n) {
        const int *x = (const int *)(const void *)(row + ints[n].offset);
        int same = 1, even = 1; /* in all; as far from the body's number in all */
        for (int i = 1; i <= v.nb; ++i) {
            const int *y =
                (const int *)(const void *)((const char *)(v.body + i - in) + ints[n].offset);
            if (s->like[i] == first) {
                same = same && *y == *x;
                even = even && *y - i == *x - first;
            }
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
    /* one text for both */
    if (!starts && !in) fprintf(f, " row.starts = own->starts ? SOAI_STARTS_BEFORE : 0;");
    for (size_t n = 0; n < sizeof numbers / sizeof *numbers; ++n)
        for (int c = 0; c < numbers[n].count; ++c) {
            const size_t place = numbers[n].offset + sizeof(double) * (size_t)c;
            int same = 1;
            for (int i = 1; i <= v.nb; ++i)
                if (s->like[i] == first)
                    same = same && !memcmp((const char *)(v.body + i - in) + place, row + place,
                                           sizeof(double));
            char index[16] = "";
            if (numbers[n].count > 1) snprintf(index, sizeof index, "[%d]", c);
            if (!same)
                fprintf(f, " %s.%s%s = %s%s%s%s;", name, numbers[n].name, index, own,
                        in ? "." : "->", numbers[n].name, index);
        }
}
/* What the sweeps of the kernels (joint.h) become. */
void soai_gen_put_each(FILE *f, const soai_gen_sharing *s) {
    static const char step[] =
        " { enum { i = %d }; const body_table *b = (k)->body + i; __VA_ARGS__; }";
    for (int across = 0; across < 2; ++across) {
        const int *order = across ? s->across : s->order;
        const char *suffix = across ? "_ACROSS" : "";
        fprintf(f, "#define SOAI_OUTWARD%s(k, ...)", suffix);
        for (int n = 0; n < s->bodies; ++n)
            fprintf(f, step, order[n]);
        fprintf(f, "\n#define SOAI_INWARD%s(k, ...)", suffix);
        for (int n = s->bodies - 1; n >= 0; --n)
            fprintf(f, step, order[n]);
        fprintf(f, "\n");
    }
}
/* The bodies in an order of the outward sweep, each with the first that has the same step. */
static void put_order(FILE *f, const soai_gen_sharing *s, const int *order, const char *name,
                      const char *suffix) {
    fprintf(f, "static const unsigned short %s%s[][2] = {", name, suffix);
    for (int n = 0; n < s->bodies; ++n)
        fprintf(f, "%s{%d, %d}", n ? ", " : "", order[n], s->like[order[n]]);
    fprintf(f, "};\n");
}
/* GEN_<name>(k, order, statement): the statement about body number n of the order, i, with row b;
 * with its chain, if asked for. */
static void put_steps(FILE *f, const soai_view_double v, const soai_gen_sharing *s,
                      const char *name, int chains) {
    fprintf(f, "#define GEN_%s(k, order, ...) switch (order[n][1]) {", name);
    for (int n = 0; n < s->bodies; ++n) {
        const int i = s->order[n], links = s->links[i];
        int others = 0;
        for (int m = n + 1; m < s->bodies; ++m)
            others += s->like[s->order[m]] == i;
        if (s->like[i] != i) continue;
        fprintf(f, " \\\n    case %d: {", i);
        if (others) {
            fprintf(f, " const int i = order[n][0];");
            for (int d = 0; d < links; ++d)
                put_row(f, v, s, i, d);
        } else {
            fprintf(f, " enum { i = %d }; const body_table *b = (k)->body + i;", i);
        }
        if (chains) {
            fprintf(f, " enum { links = %d, outermost = %d }; const body_table *const chain[] = {b",
                    links, outermost(s, i));
            for (int d = 1; d < links; ++d)
                fprintf(f, others ? ", &row%d" : ", b - %d", d);
            fprintf(f, "};");
        }
        fprintf(f, " __VA_ARGS__; break; }");
    }
    fprintf(f, " \\\n    default: __builtin_unreachable(); }\n");
}
void soai_gen_put_sweeps(FILE *f, const soai_view_double v, const soai_gen_sharing *s,
                         const char *name) {
    if (s->by == SOAI_GEN_EACH) soai_gen_put_each(f, s);
    if (s->by == SOAI_GEN_EACH || s->by == SOAI_GEN_NONE) return;
    put_order(f, s, s->order, name, "");
    put_order(f, s, s->across, name, "_across");
    put_steps(f, v, s, "STEP", 0);
    for (int across = 0; across < 2; ++across) {
        const char *suffix = across ? "_ACROSS" : "";
        const char *order = across ? "_across" : "";
        fprintf(f,
                "#define SOAI_OUTWARD%s(k, ...) for (int n = 0; n < %d; ++n) GEN_STEP(k, %s%s, "
                "__VA_ARGS__)\n"
                "#define SOAI_INWARD%s(k, ...) for (int n = %d; n >= 0; --n) GEN_STEP(k, %s%s, "
                "__VA_ARGS__)\n",
                suffix, s->bodies, name, order, suffix, s->bodies - 1, name, order);
    }
}

/* Mass matrices that leave the lanes branch by branch: those formed by columns, neither small
 * enough to stand there whole (MASS_SMALL in crba.h) nor so large that the table would fill the
 * nearest cache. */
int soai_gen_leaves(const soai_view_double v) {
    return !v.nm && v.nv > 12 && v.nv <= 64 && soai_by_columns(v.nb, v.body);
}
/* gen_from: where number j of a matrix is in the lanes, which hold what is on or below the
 * diagonal; one past their end is zero. */
static void put_from(FILE *f, const soai_view_double v) {
    const int n = v.nv;
    fprintf(f, "enum { GEN_AHEAD = 16 };\nstatic const unsigned short gen_from[] = {");
    for (int i = 0; i < n * n; ++i) {
        const int r = i / n > i % n ? i / n : i % n, c = i / n + i % n - r;
        int a = 1, b = 1; /* their bodies */
        while (v.body[b].iv + v.body[b].nv <= r)
            ++b;
        while (v.body[a].iv + v.body[a].nv <= c)
            ++a;
        while (b > a)
            b = v.body[b].parent;
        fprintf(f, "%d,", a == b ? n * r + c : n * n);
    }
    fprintf(f, "};\n");
}
/* gen_branches: the last branch first; its bodies, coordinates among which are its angles, and the
 * number from which on the matrix stands when the branch is swept. */
static void put_branches(FILE *f, const soai_view_double v) {
    fprintf(f,
            "typedef struct gen_branch { int first, last, angle, angle_end, stands; } gen_branch;\n"
            "static const gen_branch gen_branches[] = {");
    for (int first = v.nb, last = v.nb; first; --first) {
        int angle = 0, angle_end = 0;
        if (!branches(v, first)) continue;
        for (int i = last; i >= first; --i) {
            if (!soai_gen_turns(v.body[i].kind)) continue;
            if (!angle_end) angle_end = v.body[i].iq + v.body[i].nv;
            angle = v.body[i].iq;
        }
        fprintf(f, "{%d, %d, %d, %d, %d}, ", first, last, angle, angle_end,
                v.nv * v.body[first].iv);
        last = first - 1;
    }
    fprintf(f, "{0}};\n");
}
void soai_gen_put_leaving(FILE *f, const soai_view_double v, soai_gen_sharing *s) {
    put_from(f, v);
    if (s->by == SOAI_GEN_BUILD || s->by == SOAI_GEN_KIND) share_chains(v, s);
    if (s->by != SOAI_GEN_BUILD && s->by != SOAI_GEN_KIND) return;
    put_branches(f, v);
    put_order(f, s, s->order, "gen_order_chains", "");
    put_steps(f, v, s, "CHAIN", 1);
}
