/* divide_and_conquer.c  forward dynamics by divide and conquer: the tree of segments, its four
 *                       sweeps, its operations counted.
 *
 * The machine is laid out as paths: from a root always to the child that carries most bodies, the
 * other children being roots of paths of their own.  A path is cut into runs of `grain` bodies, the
 * last perhaps longer.  A body whose own inertia has no inverse stays in the run of the next one,
 * so that every run ends in a body that gives inertia to all joints before it (or at a tip).  Runs
 * of a path are joined pair by pair, cut where both halves carry the same number of bodies, side
 * branches counted; side branches of one body are added up in the same way.  So a body is at most
 * O(log n) joins away from a root, also in trees.  The mathematics is in segment_sweeps.h. */
#include "../sweep/steps.h"
#include "../dynamics/work.h"
#include "../sweep/segments.h"
#include "soa/forms.h"
#include <stdlib.h>

struct soa_divide {
    const soa_model *model;
    soa_work *work;
    soai_segments t;
    int count, levels, root_count;
    int *start; /* of each level in t.segment; levels + 1 */
    int *root;  /* segments that hang on the world        */
    int body;
    /* the call under way */
    soai_inputs in;
    double *qdd;
    int sweep, first;
};

/* ---- the tree of segments -------------------------------------------------------------------- */
typedef struct builder {
    const soai_view_double *k;
    soa_divide *d;
    int grain, count, placed;
    int *size;         /* bodies carried by a body, itself included */
    int *child, *next; /* lists of children                         */
    double *before;    /* weights of the parts of a list, summed    */
    int *part;         /* the list: segments                        */
    int failed;
} builder;

/* Is the link's own inertia safely invertible? */
static int is_solid(const double *M) {
    double A[36];
    for (int c = 0; c < 6; ++c) {
        double e[6] = {0};
        e[c] = 1;
        rigid_mul_k(M, e, A + 6 * c);
    }
    for (int c = 0; c < 6; ++c) {
        const double whole = A[7 * c];
        for (int j = 0; j < c; ++j)
            A[7 * c] -= A[6 * c + j] * A[6 * c + j] * A[7 * j];
        if (!(A[7 * c] > 1e-9 * whole)) return 0;
        for (int r = c + 1; r < 6; ++r) {
            for (int j = 0; j < c; ++j)
                A[6 * r + c] -= A[6 * r + j] * A[6 * c + j] * A[7 * j];
            A[6 * r + c] /= A[7 * c];
        }
    }
    return 1;
}
static int make(builder *b, int kind, int first, int last, int open) {
    soai_segment *s = b->d->t.segment + b->count;
    *s = (soai_segment){.kind = kind, .a = first, .b = last, .open = open};
    return b->count++;
}
/* parts[from .. to] to one segment, cut where the weights on both sides are most alike. */
static int balance(builder *b, int kind, const int *parts, const double *before, int from, int to,
                   int last) {
    if (from == to) return parts[from];
    int cut = from;
    const double middle = 0.5 * (before[from] + before[to + 1]);
    while (cut + 1 < to && before[cut + 1] < middle)
        ++cut;
    if (cut > from && middle - before[cut] < before[cut + 1] - middle) --cut;
    const int inner = balance(b, kind, parts, before, from, cut, last);
    const int outer = balance(b, kind, parts, before, cut + 1, to, last);
    const int n = make(b, kind, inner, outer, kind == SEGMENT_JOIN && to != last);
    soai_segment *s = b->d->t.segment, *x = s + inner, *y = s + outer;
    s[n].level = 1 + (x->level > y->level ? x->level : y->level);
    s[n].dof = x->dof + y->dof;
    return n;
}
static int path(builder *b, int body);
/* All children of a body but the heavy one, as one segment; -1 for none. */
static int sides(builder *b, int body, int heavy) {
    int count = 0;
    for (int c = b->child[body]; c; c = b->next[c])
        count += c != heavy;
    if (!count) return -1;
    int *part = calloc((size_t)count, sizeof *part);
    double *before = calloc((size_t)count + 1, sizeof *before);
    if (!part || !before) {
        free(part);
        free(before);
        b->failed = 1;
        return -1;
    }
    int n = 0, out;
    for (int c = b->child[body]; c; c = b->next[c]) {
        if (c != heavy) {
            before[n + 1] = before[n] + b->size[c];
            part[n++] = path(b, c);
        }
    }
    out = b->failed ? -1 : balance(b, SEGMENT_SIDE, part, before, 0, count - 1, count - 1);
    free(part);
    free(before);
    return out;
}
static int heavy_child(const builder *b, int body) {
    int heavy = 0;
    for (int c = b->child[body]; c; c = b->next[c])
        if (!heavy || b->size[c] > b->size[heavy]) heavy = c;
    return heavy;
}
static int path(builder *b, int body) {
    const int begin = b->placed;
    for (int i = body; i; i = heavy_child(b, i))
        b->d->t.order[b->placed++] = i;
    const int end = b->placed, length = end - begin;
    int *part = calloc((size_t)length, sizeof *part);
    double *before = calloc((size_t)length + 1, sizeof *before);
    if (!part || !before) b->failed = 1;
    int runs = 0;
    for (int at = begin; at < end && !b->failed;) {
        /* a closed run costs 2/5 of an open one, so the last may be longer */
        const int most = b->grain > 1 && 2 * (end - at) <= 5 * b->grain ? end - at : b->grain;
        int stop = at, level = 0, dof = 0;
        double weight = 0;
        do {
            const int i = b->d->t.order[stop], heavy = stop + 1 < end ? b->d->t.order[stop + 1] : 0;
            const int side = b->d->t.rake[i] = sides(b, i, heavy);
            if (side >= 0 && b->d->t.segment[side].level >= level)
                level = b->d->t.segment[side].level + 1;
            weight += b->size[i] - (heavy ? b->size[heavy] : 0);
            dof += b->k->body[i].nv;
            ++stop;
        } while (stop < end &&
                 (stop - at < most || !is_solid(b->k->body[b->d->t.order[stop - 1]].M)));
        const int n = make(b, SEGMENT_RUN, 0, 0, stop < end);
        soai_segment *s = b->d->t.segment + n;
        s->first = at;
        s->count = stop - at;
        s->level = level;
        s->dof = dof;
        before[runs + 1] = before[runs] + weight;
        part[runs++] = n;
        at = stop;
    }
    const int out = b->failed ? -1 : balance(b, SEGMENT_JOIN, part, before, 0, runs - 1, runs - 1);
    free(part);
    free(before);
    return out;
}
/* Segments in the order of their levels. */
static int sort_levels(soa_divide *d) {
    int most = 0;
    for (int i = 0; i < d->count; ++i)
        if (d->t.segment[i].level > most) most = d->t.segment[i].level;
    d->levels = most + 1;
    d->start = calloc((size_t)d->levels + 2, sizeof *d->start);
    int *to = calloc((size_t)d->count + 1, sizeof *to);
    soai_segment *sorted = calloc((size_t)d->count + 1, sizeof *sorted);
    if (!d->start || !to || !sorted) {
        free(to);
        free(sorted);
        return 0;
    }
    for (int i = 0; i < d->count; ++i)
        ++d->start[d->t.segment[i].level + 2];
    for (int l = 2; l <= d->levels + 1; ++l)
        d->start[l] += d->start[l - 1];
    for (int i = 0; i < d->count; ++i)
        to[i] = d->start[d->t.segment[i].level + 1]++;
    for (int i = 0; i < d->count; ++i) {
        soai_segment *s = sorted + to[i];
        *s = d->t.segment[i];
        if (s->kind != SEGMENT_RUN) {
            s->a = to[s->a];
            s->b = to[s->b];
        }
    }
    for (int i = 1; i <= d->model->nb; ++i)
        if (d->t.rake[i] >= 0) d->t.rake[i] = to[d->t.rake[i]];
    for (int i = 0; i < d->root_count; ++i)
        d->root[i] = to[d->root[i]];
    free(d->t.segment);
    free(to);
    d->t.segment = sorted;
    return 1;
}

void soa_divide_free(soa_divide *d) {
    if (!d) return;
    soa_work_free(d->work);
    free(d->t.segment);
    free(d->t.order);
    free(d->t.rake);
    free(d->t.rows);
    free(d->start);
    free(d->root);
    free(d);
}
soa_status soa_divide_create(const soa_model *m, int grain, soa_divide **divide) {
    if (!m || grain < 1 || !divide) return SOA_E_ARGUMENT;
    for (int i = 1; i <= m->nb; ++i)
        if (soai_bodies(m)[i].rotor) return SOA_E_JOINT;
    if (m->nm) return SOA_E_MIMIC;
    soa_divide *d = calloc(1, sizeof *d);
    if (!d) return SOA_E_MEMORY;
    const size_t nb = (size_t)m->nb + 1;
    d->model = m;
    d->body = -1;
    soa_status s = soa_work_create(m, &d->work);
    d->t.segment = calloc(3 * nb, sizeof *d->t.segment);
    d->t.order = calloc(nb, sizeof(int));
    d->t.rake = calloc(nb, sizeof(int));
    d->root = calloc(nb, sizeof(int));
    d->t.rows = calloc(6 * (size_t)m->tv + 6, sizeof(double));
    builder b = {.d = d,
                 .grain = grain,
                 .size = calloc(nb, sizeof(int)),
                 .child = calloc(nb, sizeof(int)),
                 .next = calloc(nb, sizeof(int))};
    if (!s && (!d->t.segment || !d->t.order || !d->t.rake || !d->root || !d->t.rows || !b.size ||
               !b.child || !b.next))
        s = SOA_E_MEMORY;
    if (!s) {
        b.k = &d->work->view;
        for (int i = m->nb; i >= 1; --i) {
            const int p = b.k->body[i].parent;
            b.size[i] += 1;
            b.size[p] += b.size[i];
            b.next[i] = b.child[p];
            b.child[p] = i;
        }
        for (int i = 1; i <= m->nb; ++i)
            if (!b.k->body[i].parent) d->root[d->root_count++] = path(&b, i);
        d->count = b.count;
        if (b.failed || !sort_levels(d)) s = SOA_E_MEMORY;
    }
    free(b.size);
    free(b.child);
    free(b.next);
    if (s)
        soa_divide_free(d);
    else
        *divide = d;
    return s;
}

/* ---- a call ---------------------------------------------------------------------------------- */
static void task(void *data, int index) {
    soa_divide *d = data;
    d->work->k->segment(&d->work->view, &d->work->w, &d->t, d->sweep, d->first + index, d->in.q,
                        d->in.v, d->in.tau, d->in.fext, d->qdd);
}
static void serial(void *user, int count, soa_parallel_task *todo, void *data) {
    (void)user;
    for (int i = 0; i < count; ++i)
        todo(data, i);
}
soa_status soa_divide_fd(soa_divide *d, const soa_input *input, soa_parallel_for *run, void *user,
                         double *qdd) {
    if (!input || !d || !qdd) return SOA_E_ARGUMENT;
    soa_status s = soai_forward_inputs(d->model, d->work, input, &d->in);
    d->body = d->work->body;
    if (s) return s;
    double base[6];
    base_acceleration(&d->work->view, base);
    for (int i = 0; i < d->root_count; ++i) {
        v6_zero(d->t.segment[d->root[i]].V);
        v6_copy(base, d->t.segment[d->root[i]].A);
    }
    d->qdd = d->work->tt;
    for (d->sweep = 0; d->sweep < SEGMENT_SWEEPS; ++d->sweep) {
        const int up = d->sweep == SEGMENT_POSE || d->sweep == SEGMENT_ARTICULATE;
        for (int n = 0; n < d->levels; ++n) {
            const int level = up ? n : d->levels - 1 - n;
            d->first = d->start[level];
            (run ? run : serial)(user, d->start[level + 1] - d->start[level], task, d);
        }
        for (int i = 0; d->sweep == SEGMENT_ARTICULATE && i < d->count; ++i)
            if (d->t.segment[i].kind == SEGMENT_RUN && d->t.segment[i].bad) {
                d->body = d->t.segment[i].bad;
                return SOA_E_HINGE_SINGULAR;
            }
    }
    memcpy(qdd, d->qdd, (size_t)d->model->nv * sizeof *qdd);
    return SOA_OK;
}
int soa_divide_failed_body(const soa_divide *d) {
    return d ? d->body : -1;
}

/* ---- operations ------------------------------------------------------------------------------ */
/* Of the steps of algebra.h and joint.h in their plain form; a fused pair is two. */
enum {
    MOTION = 42,   /* motion_out            */
    FORCE = 48,    /* force_in_add          */
    DOT = 11,      /* v6_dot                */
    ADD = 12,      /* v6_add_scaled         */
    SYM_MUL = 66,  /* abi_mul               */
    SYM_SUB = 42,  /* abi_subtract          */
    SYM_MOVE = 339 /* abi_in_add            */
};
static double factor_cost(int n) {
    double f = 0;
    for (int j = 0; j < n; ++j)
        f += 3 * j + (n - 1 - j) * (3 * j + 1);
    return n == 1 ? 1 : f;
}
static double solve_cost(int n) {
    return n == 1 ? 1 : 2.0 * n * (n - 1) + n;
}
typedef struct joint_cost {
    double position, add, project, inertia, bias;
} joint_cost;
static joint_cost cost_of(const soai_body_double *b) {
    const double n = b->nv;
    switch (b->kind) {
    case SOAI_KIND_REVOLUTE_X:
    case SOAI_KIND_REVOLUTE_Y:
    case SOAI_KIND_REVOLUTE_Z: return (joint_cost){18, 1, 0, 0, 6};
    case SOAI_KIND_REVOLUTE: return (joint_cost){36, 6, 5, 30, 24};
    case SOAI_KIND_PRISMATIC: return (joint_cost){6, 6, 5, 30, 12};
    case SOAI_KIND_SPHERICAL: return (joint_cost){75, 3, 0, 0, 30};
    case SOAI_KIND_FREE: return (joint_cost){93, 6, 0, 0, 36};
    default: return (joint_cost){120, ADD * n, DOT * n, SYM_MUL * n, 45 + ADD * n};
    }
}
/* b(k), P+, D, and so on: what soa_aba and a run share. */
static double hinge_cost(const soai_body_double *b) {
    const joint_cost c = cost_of(b);
    const double n = b->nv;
    return c.inertia + (n + 1) * c.project + 2 * n + factor_cost(b->nv) + 6 * solve_cost(b->nv) +
           n * SYM_SUB + solve_cost(b->nv) + SYM_MUL + 6 + n * ADD + FORCE + SYM_MOVE;
}
/* Of the recursion in spatial accelerations, as the segments have them. */
static double aba_cost(const soai_body_double *b) {
    const joint_cost c = cost_of(b);
    /* nothing goes to the world */
    const double n = b->nv, rooted = b->parent ? 0 : SYM_MOVE + FORCE + SYM_MUL + 6;
    return c.position + MOTION + c.add + 72 + hinge_cost(b) - rooted + 2 * c.bias + MOTION + 6 +
           n * (DOT + 1) + solve_cost(b->nv) + c.add;
}
static double run_cost(const soa_divide *d, const soai_segment *s, int sweep) {
    double f = 0;
    for (int m = 0; m < s->count; ++m) {
        const int i = d->t.order[s->first + m];
        const soai_body_double *b = d->work->view.body + i;
        const joint_cost c = cost_of(b);
        const double n = b->nv, solve = solve_cost(b->nv);
        switch (sweep) {
        case SEGMENT_POSE:
            f += c.position;
            if (s->open) f += c.add + (m ? 45 + 15 + 3 + MOTION : 0);
            break;
        case SEGMENT_VELOCITY: f += MOTION + c.add + c.bias + 72; break;
        case SEGMENT_ARTICULATE:
            f += hinge_cost(b) + 21 + (m + 1 < s->count ? 27 : 0) + (d->t.rake[i] >= 0 ? 27 : 0);
            if (s->open)
                f += n * (DOT + 1) + solve + c.add +
                     6 * (DOT + 1 + c.project + solve + n * ADD + FORCE) + n * SYM_SUB;
            break;
        default:
            if (s->open && m + 1 == s->count)
                f += MOTION + 12 + c.project;
            else
                f += MOTION + 6 + n * (DOT + 1) + (s->open ? n * (DOT + 1) : 0) + solve + c.add;
        }
    }
    return f;
}
static double join_cost(const soa_divide *d, const soai_segment *s, int sweep) {
    const soai_segment *a = d->t.segment + s->a;
    const int k = a->dof < 6 ? a->dof : 6;
    const double n = k, meet = n * (2 * DOT + 1 + ADD);
    switch (sweep) {
    case SEGMENT_POSE: return s->open ? 45 + 15 + 3 + MOTION + 6 : 0;
    case SEGMENT_VELOCITY: return MOTION + 6;
    case SEGMENT_ARTICULATE: {
        double f = n * (2 + 6 + 72) + n * SYM_MUL + n * (n + 1) / 2 * DOT + n +
                   n * (n - 1) * (2 * ADD + 1) + n * (14 + SYM_SUB) +
                   (n * n * n - n) / 3;               /* N, U, C, P+ */
        f += SYM_MUL + 6 + n * (DOT + ADD) + 6 * ADD; /* z           */
        f += 36 * ADD + 36 * ADD + 63;                /* P           */
        if (s->open) f += meet + 6 * (n * (DOT + ADD) + 6 * ADD + DOT + 1) + n * SYM_SUB;
        return f;
    }
    default: return 6 * DOT + 6 + (s->open ? 6 * ADD : 0) + meet + SYM_MUL + 6;
    }
}
static double cost(const soa_divide *d, int n, int sweep) {
    const soai_segment *s = d->t.segment + n;
    if (s->kind == SEGMENT_RUN) return run_cost(d, s, sweep);
    if (s->kind == SEGMENT_JOIN) return join_cost(d, s, sweep);
    return sweep == SEGMENT_ARTICULATE ? 27 : 0;
}
soa_status soa_divide_level(const soa_divide *d, int level, int *tasks, double *longest) {
    if (!d || level < 0 || level >= d->levels) return SOA_E_ARGUMENT;
    double sum = 0;
    for (int sweep = 0; sweep < SEGMENT_SWEEPS; ++sweep) {
        double most = 0;
        for (int n = d->start[level]; n < d->start[level + 1]; ++n) {
            const double f = cost(d, n, sweep);
            if (f > most) most = f;
        }
        sum += most;
    }
    if (tasks) *tasks = d->start[level + 1] - d->start[level];
    if (longest) *longest = sum;
    return SOA_OK;
}
soa_status soa_divide_operations(const soa_divide *d, soa_divide_count *count) {
    if (!d || !count) return SOA_E_ARGUMENT;
    *count = (soa_divide_count){.levels = d->levels, .segments = d->count};
    for (int n = 0; n < d->count; ++n)
        for (int sweep = 0; sweep < SEGMENT_SWEEPS; ++sweep)
            count->flops += cost(d, n, sweep);
    for (int level = 0; level < d->levels; ++level) {
        double longest;
        soa_divide_level(d, level, NULL, &longest);
        count->critical += longest;
    }
    for (int i = 1; i <= d->model->nb; ++i)
        count->aba += aba_cost(d->work->view.body + i);
    return SOA_OK;
}
