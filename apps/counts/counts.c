/* counts.c  reproduces R87's Tables II and III and Fig. 4 from our own scalar graphs, and the same
 * for general arms.
 *
 *   soa_counts [FILE.svg]   prints the tables of docs/theory/operation-counts.md; draws the picture
 *
 * Numbers in columns named "ours" are counted in a graph (soa_scalar_graph_operations) that
 * computes the right answer. Numbers in columns named "R87" are as printed in the paper. A flop is
 * R87's: one addition with one multiplication, divisions not counted. */
#include "soa/io.h"
#include "soa/soa.h"
#include "soa/world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 15, SHOWN = 8, INNER = 4, PARTS = 64 };
typedef struct way { /* one algorithm for one family of machines */
    const char *family;
    const soa_expr *expr;
    soa_axes axes;
    int by_matrix;
} way;
typedef struct tally {
    soa_count all, part[PARTS], inner, inner_part[PARTS];
} tally;

static int part_named(const char *name) {
    const char *p;
    for (int i = 0; (p = soa_scalar_graph_part_name(i, NULL)); ++i)
        if (!strcmp(p, name)) return i;
    fprintf(stderr, "no part '%s'\n", name);
    exit(2);
}
static void stop(const char *what, const char *why) {
    fprintf(stderr, "soa_counts: %s: %s\n", what, why);
    exit(2);
}
/* Parses an expression. The mass matrix uses it as written, the sweeps as the rewriter improves
 * it. */
static const soa_expr *parsed(const char *text, const soa_expr **improved) {
    char message[600] = "";
    const soa_expr *e = NULL;
    if (soa_expr_parse(text, NULL, 0, &e, message, sizeof message) != SOA_OK) stop(text, message);
    if (soa_expr_improve(e, 0, NULL, NULL, improved) != SOA_OK) stop(text, "memory");
    return e;
}
static tally counted(const way *w, int n) {
    tally t = {0};
    char name[64], message[600] = "";
    soa_report report = {SOA_OK, -1, 0, ""};
    const soa_read_options plain = {.ideal = true};
    const soa_scalar_graph_options how = {
        .axes = w->axes, .by_matrix = w->by_matrix, .generic = true};
    const soa_model *model = NULL;
    soa_machine *machine = NULL;
    soa_scalar_graph *graph = NULL;
    snprintf(name, sizeof name, "%s:%d", w->family, n);
    if (soa_stock_model_create(name, &plain, &model, &report) != SOA_OK) stop(name, report.text);
    if (soa_machine_create(model, NULL, 0, &machine, &report) != SOA_OK) stop(name, report.text);
    if (soa_scalar_graph_create(machine, w->expr, &how, &graph, message, sizeof message) != SOA_OK)
        stop(name, message);
    const int inner = n >= SHOWN ? INNER : 0;
    soa_scalar_graph_operations(graph, 0, -1, &t.all);
    soa_scalar_graph_operations(graph, inner, -1, &t.inner);
    for (int p = 0; p < PARTS && soa_scalar_graph_part_name(p, NULL); ++p) {
        soa_scalar_graph_operations(graph, 0, p, t.part + p);
        soa_scalar_graph_operations(graph, inner, p, t.inner_part + p);
    }
    soa_scalar_graph_free(graph);
    soa_machine_free(machine);
    soa_model_free(model);
    return t;
}
static void add_to(soa_count *a, const soa_count *b) {
    a->additions += b->additions;
    a->multiplications += b->multiplications;
    a->divisions += b->divisions;
}
static soa_count parts_of(const soa_count *part, const char *const names[3]) {
    soa_count c = {0};
    for (int i = 0; i < 3 && names[i]; ++i)
        add_to(&c, part + part_named(names[i]));
    return c;
}
static double flops(const soa_count *c) {
    return 0.5 * (double)(c->additions + c->multiplications);
}

/* --- Table II: additions, multiplications, divisions of an inner link ------------------------- */
static void table_2(const tally *link, const tally *world) {
    static const struct {
        const char *name, *parts[3];
        int add, multiply, divide;
    } rows[] = {{"State propagation", {"z moved"}, 1, 1, 0},
                {"Inertia propagation", {"P moved"}, 4, 3, 0},
                {"Gain", {"gain"}, 0, 0, 2},
                {"Innovations", {"innovation"}, 1, 0, 0},
                {"Residuals", {"residual"}, 0, 0, 1},
                {"State update", {"z updated", "z turned"}, 5, 6, 0},
                {"Inertia update", {"P updated", "P turned"}, 10, 9, 0},
                {"Costate propagation", {"costate moved"}, 1, 1, 0},
                {"Joint acceleration", {"acceleration"}, 3, 2, 0},
                {"Costate update", {"costate updated", "costate turned"}, 3, 4, 0},
                {"(constants turned)", {"poses"}, 0, 0, 0}};
    soa_count sum[2] = {{0}};
    int paper[3] = {0};
    printf("| R87 Table II, a link | R87 + | × | ÷ | ours, link axes + | × | ÷ | ours, world axes "
           "+ | × | ÷ |\n"
           "|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
        const soa_count c[2] = {parts_of(link->inner_part, rows[i].parts),
                                parts_of(world->inner_part, rows[i].parts)};
        printf("| %s | %d | %d | %d", rows[i].name, rows[i].add, rows[i].multiply, rows[i].divide);
        for (int k = 0; k < 2; ++k) {
            printf(" | %ld | %ld | %ld", c[k].additions, c[k].multiplications, c[k].divisions);
            add_to(sum + k, c + k);
        }
        printf(" |\n");
        paper[0] += rows[i].add;
        paper[1] += rows[i].multiply;
        paper[2] += rows[i].divide;
    }
    printf("| **Total** | **%d** | **%d** | **%d**", paper[0], paper[1], paper[2]);
    for (int k = 0; k < 2; ++k)
        printf(" | **%ld** | **%ld** | **%ld**", sum[k].additions, sum[k].multiplications,
               sum[k].divisions);
    printf(" |\n\n");
    if (sum[0].additions != link->inner.additions ||
        sum[0].multiplications != link->inner.multiplications ||
        sum[1].additions != world->inner.additions ||
        sum[1].multiplications != world->inner.multiplications)
        stop("Table II", "a part is not in any row");
}
/* --- Table III: assembly of the mass matrix of SHOWN links ------------------------------------ */
static void table_3(const tally *link, const tally *world) {
    static const struct {
        const char *name, *parts[3];
        int add, multiply, pairs;
    } rows[] = {{"Mass", {"Mc mass"}, 1, 0, 0},
                {"Mass center", {"Mc centre"}, 2, 1, 0},
                {"Rotational inertia", {"Mc inertia"}, 3, 3, 0},
                {"(composite inertia turned)", {"Mc turned"}, 0, 0, 0},
                {"State propagation", {"column", "column moved"}, 1, 1, 1},
                {"State update", {"column turned"}, 2, 4, 1},
                {"(constants turned)", {"poses"}, 0, 0, 0}};
    const int n = SHOWN;
    soa_count sum[2] = {{0}};
    long paper[2] = {0};
    printf("| R87 Table III, N = %d | R87 + | × | repetitions | in all + | × | ours, link axes + | "
           "× | ours, world "
           "axes + | × |\n"
           "|---|--:|--:|---|--:|--:|--:|--:|--:|--:|\n",
           n);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
        const soa_count c[2] = {parts_of(link->part, rows[i].parts),
                                parts_of(world->part, rows[i].parts)};
        const int times = rows[i].pairs ? n * (n + 1) / 2 : n;
        const char *repetitions = rows[i].pairs ? "N(N+1)/2" : "N";
        if (rows[i].add + rows[i].multiply == 0) repetitions = "";
        printf("| %s | %d | %d | %s | %d | %d", rows[i].name, rows[i].add, rows[i].multiply,
               repetitions, times * rows[i].add, times * rows[i].multiply);
        for (int k = 0; k < 2; ++k) {
            printf(" | %ld | %ld", c[k].additions, c[k].multiplications);
            add_to(sum + k, c + k);
        }
        printf(" |\n");
        paper[0] += times * rows[i].add;
        paper[1] += times * rows[i].multiply;
    }
    printf("| **Assembly** | | | | **%ld** | **%ld**", paper[0], paper[1]);
    for (int k = 0; k < 2; ++k)
        printf(" | **%ld** | **%ld**", sum[k].additions, sum[k].multiplications);
    printf(" |\n");
    static const char *const solved[][3] = {{"factor"}, {"solve"}};
    const long print[2] = {(long)n * n * n / 3, (long)n * n};
    for (int r = 0; r < 2; ++r) {
        const soa_count a = parts_of(link->part, solved[r]), b = parts_of(world->part, solved[r]);
        printf("| %s | | | | %ld | %ld | %ld | %ld | %ld | %ld |\n",
               r ? "Two triangles, R87's N²" : "Factor, R87's N³/3", print[r], print[r],
               a.additions, a.multiplications, b.additions, b.multiplications);
        add_to(sum, &a);
        add_to(sum + 1, &b);
    }
    printf("| **All** | | | | | ");
    for (int k = 0; k < 2; ++k)
        printf(" | **%ld** | **%ld**", sum[k].additions, sum[k].multiplications);
    printf(" |\n\n");
    if (sum[0].additions != link->all.additions ||
        sum[1].multiplications != world->all.multiplications)
        stop("Table III", "a part is not in any row");
}
/* --- Fig. 4 and the crossovers ---------------------------------------------------------------- */
/* First N from which a stays below b. */
static int crossover(const double *a, const double *b) {
    int n = MOST;
    while (n > 0 && a[n - 1] < b[n - 1])
        --n;
    return n + 1;
}
static void figures(const char *title, const char *const *names, double (*y)[MOST], int count,
                    const char *digits) {
    printf("| %s", title);
    for (int k = 0; k < count; ++k)
        printf(" | %s", names[k]);
    printf(" |\n|--:");
    for (int k = 0; k < count; ++k)
        printf("|--:");
    printf("|\n");
    for (int n = 1; n <= MOST; ++n) {
        printf("| %d", n);
        for (int k = 0; k < count; ++k) {
            printf(" | ");
            printf(digits, y[k][n - 1]);
        }
        printf(" |\n");
    }
}

int main(int argc, char **argv) {
    enum { WAYS = 8, PAPER = 3 };
    const soa_expr *smoother, *forward,
        *matrix = parsed("inv(Mass) T", &smoother),
        *with_bias = parsed("inv(Mass) (T - H phi (M phi' a + b))", &forward);
    const way ways[WAYS] = {
        {"planar-chain", smoother, SOA_AXES_BODY, 0},  {"planar-chain", matrix, SOA_AXES_BODY, 1},
        {"planar-chain", smoother, SOA_AXES_WORLD, 0}, {"planar-chain", matrix, SOA_AXES_WORLD, 1},
        {"dh-arm", forward, SOA_AXES_BODY, 0},         {"dh-arm", with_bias, SOA_AXES_BODY, 1},
        {"dh-arm-90", forward, SOA_AXES_BODY, 0},      {"dh-arm-90", with_bias, SOA_AXES_BODY, 1}};
    static tally t[WAYS][MOST];
    static double x[MOST], ours[WAYS][MOST], paper[PAPER + 1][MOST], planar[8][MOST], sums[4][MOST];
    for (int n = 1; n <= MOST; ++n) {
        x[n - 1] = n;
        for (int k = 0; k < WAYS; ++k) {
            t[k][n - 1] = counted(ways + k, n);
            ours[k][n - 1] = flops(&t[k][n - 1].all);
        }
        paper[0][n - 1] = 27.0 * n;
        paper[1][n - 1] = n * n * n / 3.0 + n * n + 2.0 * n * (n + 5);
        paper[2][n - 1] = n * n * n / 3.0 + n * n + 2.0 * n * n + 7.0 * n;
        paper[3][n - 1] = n * n * n / 6.0 + n * n + 2.0 * n * n + 7.0 * n;
    }
    soa_expr_free(smoother);
    soa_expr_free(forward);
    soa_expr_free(matrix);
    soa_expr_free(with_bias);
    table_2(&t[0][SHOWN - 1], &t[2][SHOWN - 1]);
    table_3(&t[1][SHOWN - 1], &t[3][SHOWN - 1]);
    static const char *const planar_names[] = {"R87 27N",
                                               "R87 N³/3+N²+2N(N+5)",
                                               "with Table III summed",
                                               "and N³/6",
                                               "ours smoother, link",
                                               "ours matrix, link",
                                               "ours smoother, world",
                                               "ours matrix, world"};
    for (int k = 0; k < 8; ++k)
        memcpy(planar[k], k < 4 ? paper[k] : ours[k - 4], sizeof planar[k]);
    figures("planar chain, N", planar_names, planar, 8, "%.1f");
    printf("\nThe smoother needs fewer flops from N = %d (R87's formulas), %d (Table III summed), "
           "%d (and N³/6), "
           "**%d** (ours, link axes), **%d** (ours, world axes).\n\n",
           crossover(paper[0], paper[1]), crossover(paper[0], paper[2]),
           crossover(paper[0], paper[3]), crossover(ours[0], ours[1]), crossover(ours[2], ours[3]));
    static const char *const arm_names[] = {
        "general α: articulated bodies", "general α: mass matrix",
        "α = 0, ±90°: articulated bodies", "α = 0, ±90°: mass matrix"};
    for (int k = 0; k < 4; ++k)
        for (int n = 0; n < MOST; ++n)
            sums[k][n] = 2 * ours[4 + k][n];
    figures("D-H arm, N: + and ×", arm_names, sums, 4, "%.0f");
    printf("\nArticulated bodies need fewer operations from N = **%d** (general α) and N = **%d** "
           "(α = 0, ±90°).\n",
           crossover(ours[4], ours[5]), crossover(ours[6], ours[7]));
    const soa_count a = t[4][9].all, b = t[4][8].all;
    printf("Each further joint of the general arm costs %ld additions and %ld multiplications.\n",
           a.additions - b.additions, a.multiplications - b.multiplications);
    if (argc < 2) return 0;
    enum { FIGURE = 9 }; /* R87's curves still cross visibly here */
    const soa_plot_curve first[] = {{"smoother, ours", ours[0], x, FIGURE, 1},
                                    {"matrix, ours", ours[1], x, FIGURE, 1},
                                    {"smoother, R87", paper[0], x, FIGURE, 0},
                                    {"matrix, R87", paper[1], x, FIGURE, 0}},
                         second[] = {{"ABA, any alpha", ours[4], NULL, 0, 1},
                                     {"matrix, any alpha", ours[5], NULL, 0, 1},
                                     {"ABA, 90 degrees", ours[6], NULL, 0, 1},
                                     {"matrix, 90 degrees", ours[7], NULL, 0, 1}};
    const soa_plot_panel panels[] = {{"planar chain (flops)", 0, first, 4},
                                     {"D-H arms (flops)", 0, second, 4}};
    const soa_plot plot = {
        .title = "Operations of forward dynamics",
        .subtitle =
            "A flop is one addition with one multiplication; above: R87 Fig. 4, no bias terms",
        .x_label = "joints N",
        .x = x,
        .count = MOST,
        .panels = panels,
        .panel_count = 2};
    soa_report report;
    if (soa_plot_write_svg(&plot, argv[1], &report) != SOA_OK) stop(argv[1], report.text);
    return 0;
}
