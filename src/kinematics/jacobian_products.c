/* jacobian_products.c  J J*, J*J and (J*J)^-1 by recursion: RJK91 section 2, which names them and
 *                      gives no recursion.
 *
 * J J*  = B* phi* H* H phi B.  With D = 1 and phi for psi this is RJK91 (20), so, base to tips,
 *             Omega(k) = phi* Omega(parent) phi + H*H,     J_f J_g* = B_f* phi*(a, f) Omega(a)
 *             phi(a, g) B_g
 *         with a the nearest body that carries both frames.
 * J*J   = H phi B B* phi* H* has the form (3) of a mass matrix whose only inertia is B B*.  At the
 *       body's origin that
 *         is [1 - p~p~, p~; -p~, 1]: a ball of mass 1 and inertia 1 at the tip.  Weights are its
 *         mass and inertia, damping is a rotor.  (11) to (13) then give the inverse where it
 *         exists.  Where it does not, the pivots D tell: each is the square of a column of J times
 *         sin^2 of its angle to the columns outboard of it. */
#include "jacobian_products.h"
#include "../spatial/algebra.h"
#include <math.h>
#include <stdlib.h>

/* A pivot below this part of its diagonal entry is rounding: the angle above is less than 1e-6. */
#define PIVOT_TOLERANCE 1e-12
/* A solution whose residual is above this part of the right side is none. */
#define SOLVE_TOLERANCE 1e-6
#define LOCKED 1e30 /* inertia of a held joint */
#define MOST 1e6    /* of a weight or a damping: held joints must stay far heavier */

/* --- J J* ------------------------------------------------------------------------------------- */
static void column_of(const soa_work *w, const soai_body_double *b, int c, double H[6]) {
    const int varies = b->type == SOA_UNIVERSAL || b->type == SOA_PLANAR;
    memcpy(H, varies ? w->w.H + 6 * (b->iv + c) : w->view.dof[b->iv + c].H, 6 * sizeof *H);
}
/* Omega of all bodies, 36 numbers each, into the work space's B. */
static void omegas(soa_work *w) {
    for (int i = 1; i <= w->view.nb; ++i) {
        const soai_body_double *b = w->view.body + i;
        const body_work *own = w->w.b + i;
        double *Omega = w->w.B + 36 * i;
        const double *in = w->w.B + 36 * b->parent;
        for (int c = 0; c < 6; ++c) {
            double unit[6] = {0}, f[6] = {0}, V[6] = {0};
            unit[c] = 1;
            if (b->parent) {
                force_in_add(own->R, own->p, unit, f);
                for (int r = 0; r < 6; ++r)
                    V[r] = v6_dot(in + 6 * r, f);
                motion_out(own->R, own->p, V, V);
            }
            for (int j = 0; j < b->nv; ++j) {
                double H[6];
                column_of(w, b, j, H);
                v6_add_scaled(H[c], H, V);
            }
            for (int r = 0; r < 6; ++r)
                Omega[6 * r + c] = V[r];
        }
    }
}
static int nearest_common(const soai_view_double *view, int a, int b) {
    while (a != b) /* parents have smaller numbers */
        if (a > b)
            a = view->body[a].parent;
        else
            b = view->body[b].parent;
    return a;
}
/* One 6 x 6 block: J_f J_g*, poses given. */
static void block(const soa_work *w, int a, const soa_frame *f, const soa_frame *g, soa_axes axes,
                  size_t row, double *out) {
    const double *Ra = w->w.Rw + 9 * a, *pa = w->w.pw + 3 * a, *Omega = w->w.B + 36 * a;
    double to_f[3], to_g[3];
    for (int j = 0; j < 3; ++j) {
        to_f[j] = f->p[j] - pa[j];
        to_g[j] = g->p[j] - pa[j];
    }
    for (int c = 0; c < 6; ++c) {
        double x[6] = {0}, y[6];
        x[c] = 1;
        if (axes == SOA_AXES_BODY) {
            rot_mul(g->R, x, x);
            rot_mul(g->R, x + 3, x + 3);
        }
        v3_cross_add(to_g, x + 3, x);
        rot_tmul(Ra, x, x);
        rot_tmul(Ra, x + 3, x + 3);
        for (int r = 0; r < 6; ++r)
            y[r] = v6_dot(Omega + 6 * r, x);
        rot_mul(Ra, y, y);
        rot_mul(Ra, y + 3, y + 3);
        double v[3];
        v3_cross(y, to_f, v);
        for (int j = 0; j < 3; ++j)
            y[3 + j] += v[j];
        if (axes == SOA_AXES_BODY) {
            rot_tmul(f->R, y, y);
            rot_tmul(f->R, y + 3, y + 3);
        }
        for (int r = 0; r < 6; ++r)
            out[(size_t)r * row + (size_t)c] = a ? y[r] : 0;
    }
}
static soa_status jjt(const soa_model *m, soa_work *w, const double *q, const int *frames,
                      int count, soa_axes axes, double *JJt) {
    if (!m || !w || w->model != m || count < 1 || !frames || !JJt ||
        (axes != SOA_AXES_WORLD && axes != SOA_AXES_BODY))
        return SOA_E_ARGUMENT;
    for (int f = 0; f < count; ++f)
        if (frames[f] < 0 || frames[f] >= m->frames) return SOA_E_ARGUMENT;
    const soa_status s = soa_kinematics(m, w, q, NULL, NULL);
    if (s) return s;
    const size_t row = 6 * (size_t)count;
    if (m->nm) { /* a leader's column is a sum over its followers: products, column by column */
        for (size_t c = 0; c < row; ++c) {
            double unit[6] = {0}, V[6];
            unit[c % 6] = 1;
            soa_jacobian_transpose_mul(m, w, frames[c / 6], axes, unit, w->user);
            for (size_t f = 0; f < (size_t)count; ++f) {
                soa_jacobian_mul(m, w, frames[f], axes, w->user, V);
                for (size_t r = 0; r < 6; ++r)
                    JJt[(6 * f + r) * row + c] = V[r];
            }
        }
        return SOA_OK;
    }
    omegas(w);
    for (int f = 0; f < count; ++f)
        for (int g = f; g < count; ++g) {
            soa_frame F, G;
            soa_pose(m, w, frames[f], &F);
            soa_pose(m, w, frames[g], &G);
            const soai_frame_row *rows = SOAI_AT(m, soai_frame_row, frame);
            const int a = nearest_common(&w->view, rows[frames[f]].body, rows[frames[g]].body);
            double *out = JJt + 6 * (size_t)f * row + 6 * (size_t)g;
            block(w, a, &F, &G, axes, row, out);
            for (size_t r = 0; r < 6; ++r)
                for (size_t c = 0; c < 6; ++c)
                    JJt[(6 * (size_t)g + c) * row + 6 * (size_t)f + r] = out[r * row + c];
        }
    return SOA_OK;
}
soa_status soa_jjt(const soa_model *m, soa_work *w, const double *q, const int *frames, int count,
                   soa_axes axes, double *JJt) {
    const unsigned before = soai_work_taken(w);
    return soai_work_keep(w, before, jjt(m, w, q, frames, count, axes, JJt));
}

/* --- the massless twin ------------------------------------------------------------------------ */
static size_t layout(const soa_model *m, char *memory) {
    soa_tip_work none, *t = memory ? (soa_tip_work *)(void *)memory : &none;
    const size_t nq = (size_t)m->nq * sizeof(double), nv = (size_t)m->nv * sizeof(double),
                 work = soa_work_size(m);
    size_t at = 0;
    soai_take(memory, &at, sizeof *t);
    t->model = m;
    t->twin = soai_take(memory, &at, (size_t)m->size);
    void *room = soai_take(memory, &at, work);
    t->lower = soai_take(memory, &at, nq);
    t->upper = soai_take(memory, &at, nq);
    t->q = soai_take(memory, &at, nq);
    t->trial = soai_take(memory, &at, nq);
    t->best = soai_take(memory, &at, nq);
    t->composite = soai_take(memory, &at, 10 * ((size_t)m->nb + 1) * sizeof(double));
    t->gradient = soai_take(memory, &at, nv);
    t->next_gradient = soai_take(memory, &at, nv);
    t->step = soai_take(memory, &at, nv);
    t->check = soai_take(memory, &at, nv);
    t->share = soai_take(memory, &at, (size_t)m->tv * sizeof(double));
    t->held = soai_take(memory, &at, (size_t)m->nv);
    t->turns = soai_take(memory, &at, (size_t)m->nv);
    t->body = -1;
    t->limited = 0;
    if (memory) {
        memcpy(t->twin, m, (size_t)m->size);
        t->twin->held = 0; /* damping does what guards do */
        /* views point into the twin: what changes there is seen, but by crba */
        soa_work_init(t->twin, room, work, &t->work);
        t->work->view.stuck = 0; /* the twin's inertias are others */
    }
    return at;
}
/* Tables of the twin, to be written. */
static soai_body_double *twin_bodies(soa_tip_work *t) {
    return (soai_body_double *)(void *)((char *)t->twin + t->twin->body_d);
}
static soai_dof_double *twin_dofs(soa_tip_work *t) {
    return (soai_dof_double *)(void *)((char *)t->twin + t->twin->dof_d);
}

/* Nothing weighs, rubs or turns a rotor.  Joints that turn about a coordinate axis lose that kind,
 * which may not carry an armature. */
static void lighten(soa_tip_work *t) {
    soa_model *m = t->twin;
    soai_body_double *body = twin_bodies(t);
    soai_dof_double *dof = twin_dofs(t);
    m->losses = 0;
    for (int i = 1; i <= m->nb; ++i) {
        soai_body_double *b = body + i;
        b->kind = soai_kind_of((soa_joint_type)b->type, b->axis, 1);
        b->rotor = 0;
        b->armature = b->hinge = 0;
    }
    for (int j = 0; j < m->tv; ++j) {
        dof[j].armature = dof[j].damping = dof[j].friction_positive = dof[j].friction_negative =
            dof[j].stiffness = 0;
        for (int c = 0; c < 3; ++c)
            dof[j].rotor[c] = 0;
    }
}
static void find_turns(soa_tip_work *t) {
    const soai_map *map = SOAI_AT(t->model, soai_map, map_v);
    memset(t->turns, 0, (size_t)t->model->nv);
    for (int j = 0; j < t->model->tv; ++j) {
        const double *H = twin_dofs(t)[j].H;
        if (H[0] != 0 || H[1] != 0 || H[2] != 0) t->turns[map[j].user] = 1;
    }
}
/* Damping of a leader is shared with its followers so that Gamma* (damping of the tree) Gamma is
 * damping^2 for every coordinate of the caller's, and no joint of the tree is left without. */
static void share_damping(soa_tip_work *t) {
    const soa_model *m = t->model;
    const soai_map *map = SOAI_AT(m, soai_map, map_v);
    for (int u = 0; u < m->nv; ++u)
        t->check[u] = 0;
    for (int j = 0; j < m->tv; ++j)
        t->check[map[j].user] += map[j].ratio != 0;
    for (int j = 0; j < m->tv; ++j)
        t->share[j] =
            map[j].ratio != 0 ? 1 / (map[j].ratio * map[j].ratio * t->check[map[j].user]) : 1;
}
static void find_limits(soa_tip_work *t) {
    const soa_model *m = t->model;
    for (int j = 0; j < m->nq; ++j) {
        t->lower[j] = -INFINITY;
        t->upper[j] = INFINITY;
    }
    for (int pass = 0; pass < 2; ++pass) /* leaders, then what followers leave of their ranges */
        for (int i = 1; i <= m->nb; ++i) {
            const soai_meta *e = soai_metas(m) + i;
            const soa_joint_type type = (soa_joint_type)soai_bodies(m)[i].type;
            if (soai_nq_of(type) != soai_nv_of(type) || (e->leader >= 0) != pass) continue;
            double low = e->lower, high = e->upper;
            int at = e->user_q, n = soai_nq_of(type);
            if (pass) {
                if (e->ratio == 0) continue;
                const double a = (low - e->offset) / e->ratio, b = (high - e->offset) / e->ratio;
                low = a < b ? a : b;
                high = a < b ? b : a;
                at = soai_metas(m)[e->leader].user_q;
                n = 1;
                if (t->lower[at] > low) low = t->lower[at];
                if (t->upper[at] < high) high = t->upper[at];
            }
            for (int c = 0; low <= high && c < n; ++c) {
                t->lower[at + c] = low;
                t->upper[at + c] = high;
            }
            t->limited |= low > -INFINITY || high < INFINITY;
        }
}

size_t soa_tip_work_size(const soa_model *model) {
    return model ? layout(model, NULL) : 0;
}
soa_status soa_tip_work_init(const soa_model *model, void *memory, size_t size,
                             soa_tip_work **work) {
    if (!model || !work) return SOA_E_ARGUMENT;
    if (!memory || (uintptr_t)memory % SOAI_ALIGN || size < layout(model, NULL))
        return SOA_E_MEMORY;
    layout(model, memory);
    soa_tip_work *t = memory;
    lighten(t);
    find_turns(t);
    share_damping(t);
    find_limits(t);
    *work = t;
    return SOA_OK;
}
soa_status soa_tip_work_create(const soa_model *model, soa_tip_work **work) {
    if (!model || !work) return SOA_E_ARGUMENT;
    const size_t size = (layout(model, NULL) + SOAI_ALIGN - 1) / SOAI_ALIGN * SOAI_ALIGN;
    void *memory = aligned_alloc(SOAI_ALIGN, size);
    if (!memory) return SOA_E_MEMORY;
    return soa_tip_work_init(model, memory, size, work);
}
void soa_tip_work_free(soa_tip_work *work) {
    free(work);
}
int soa_tip_work_failed_body(const soa_tip_work *work) {
    return work ? work->body : -1;
}

soa_status soai_tip_check(const soa_model *m, soa_tip_work *t, const soa_tip *tip) {
    if (tip->frame < 0 || tip->frame >= m->frames) return SOA_E_ARGUMENT;
    const double weights[2] = {tip->angular, tip->linear};
    if (!soai_all_finite(weights, 2)) {
        t->body = SOAI_AT(m, soai_frame_row, frame)[tip->frame].body;
        return SOA_E_NOT_FINITE;
    }
    return weights[0] >= 0 && weights[1] >= 0 && weights[0] <= MOST && weights[1] <= MOST
               ? SOA_OK
               : SOA_E_ARGUMENT;
}

void soai_twin_clear(soa_tip_work *t) {
    soai_body_double *body = twin_bodies(t);
    for (int i = 1; i <= t->twin->nb; ++i)
        memset(body[i].M, 0, sizeof body[i].M);
}
void soai_twin_add(soa_tip_work *t, const soa_tip *tip) {
    static const double one[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
    const soai_frame_row *f = SOAI_AT(t->twin, soai_frame_row, frame) + tip->frame;
    const double mass = tip->linear * tip->linear, inertia = tip->angular * tip->angular;
    const double ball[10] = {mass, 0, 0, 0, inertia, inertia, inertia, 0, 0, 0};
    double *M = twin_bodies(t)[f->body].M;
    if (f->body) rigid_in_add(one, f->p, ball, M, M);
}
void soai_twin_damp(soa_tip_work *t, double damping_squared, const char *held) {
    const soai_map *map = SOAI_AT(t->twin, soai_map, map_v);
    soai_dof_double *dof = twin_dofs(t);
    for (int i = 1; i <= t->twin->nb; ++i) {
        soai_body_double *b = twin_bodies(t) + i;
        soai_inertia_packs(b->M, b->P);
        for (int j = b->iv; j < b->iv + b->nv; ++j)
            dof[j].armature = held && held[map[j].user] ? LOCKED : damping_squared * t->share[j];
        if (b->nv == 1) b->armature = b->hinge = dof[b->iv].armature;
    }
}

/* --- J*J -------------------------------------------------------------------------------------- */
static soa_status begin(const soa_model *m, soa_tip_work *t, const soa_tip *tips, int count,
                        double damping) {
    if (!m || !t || t->model != m || count < 0 || (count && !tips)) return SOA_E_ARGUMENT;
    t->body = -1;
    if (!soai_all_finite(&damping, 1)) return SOA_E_NOT_FINITE;
    if (damping < 0 || damping > MOST) return SOA_E_ARGUMENT;
    for (int k = 0; k < count; ++k) {
        const soa_status s = soai_tip_check(m, t, tips + k);
        if (s) return s;
    }
    soai_twin_clear(t);
    for (int k = 0; k < count; ++k)
        soai_twin_add(t, tips + k);
    soai_twin_damp(t, damping * damping, NULL);
    return SOA_OK;
}
/* Status of a call on the twin, in our words. */
static soa_status told(soa_tip_work *t, soa_status s) {
    if (s) t->body = soa_work_failed_body(t->work);
    return s == SOA_E_HINGE_SINGULAR ? SOA_E_SINGULAR : s;
}
/* Are all pivots of the factorisation at hand safely above rounding?  Each against its diagonal
 * entry of J*J, which comes from balls gathered as composite bodies (R87 (32)). */
static soa_status judge_pivots(soa_tip_work *t) {
    const soa_work *w = t->work;
    const soai_view_double *view = &w->view;
    double *r = t->composite;
    for (int i = 1; i <= view->nb; ++i)
        memcpy(r + 10 * i, view->body[i].M, 10 * sizeof *r);
    for (int i = view->nb; i >= 1; --i) {
        const soai_body_double *b = view->body + i;
        const double *D = w->w.D + b->id;
        for (int c = 0; c < b->nv; ++c) {
            double H[6], f[6];
            column_of(w, b, c, H);
            rigid_mul(r + 10 * i, H, f);
            const double diagonal = v6_dot(H, f) + view->dof[b->iv + c].armature;
            const double pivot = b->nv == 1 ? 1 / D[0] : D[(b->nv + 1) * c];
            if (!(pivot > PIVOT_TOLERANCE * diagonal)) {
                t->body = i;
                return SOA_E_SINGULAR;
            }
        }
        if (b->parent)
            rigid_in_add(w->w.b[i].R, w->w.b[i].p, r + 10 * i, r + 10 * b->parent,
                         r + 10 * b->parent);
    }
    return SOA_OK;
}

soa_status soa_jtj(const soa_model *m, soa_tip_work *t, const double *q, const soa_tip *tips,
                   int count, double damping, double *A) {
    soa_status s = begin(m, t, tips, count, damping);
    if (s == SOA_OK && !A) s = SOA_E_ARGUMENT;
    if (s) return s;
    return told(t, soai_crba_user(t->twin, t->work, q, A));
}
soa_status soa_jtj_inverse_mul(const soa_model *m, soa_tip_work *t, const double *q,
                               const soa_tip *tips, int count, double damping, const double *x,
                               double *y) {
    soa_status s = begin(m, t, tips, count, damping);
    if (s == SOA_OK && (!x || !y)) s = SOA_E_ARGUMENT;
    if (s == SOA_OK && m->nm && !(damping > 0)) s = SOA_E_MIMIC;
    if (s || (s = told(t, soai_minv_mul_articulated(t->twin, t->work, q, x, t->step))) ||
        (s = judge_pivots(t)) ||
        (s = told(t, soa_mass_mul(t->twin, t->work, q, t->step, t->check))))
        return s;
    double size = 0, wrong = 0;
    for (int j = 0; j < m->nv; ++j) {
        const double d = fabs(t->check[j] - x[j]);
        if (fabs(x[j]) > size) size = fabs(x[j]);
        if (!(d <= wrong)) wrong = d;
    }
    if (!(wrong <= SOLVE_TOLERANCE * size)) return SOA_E_SINGULAR;
    memcpy(y, t->step, (size_t)m->nv * sizeof *y);
    return SOA_OK;
}
soa_status soa_jtj_inverse(const soa_model *m, soa_tip_work *t, const double *q,
                           const soa_tip *tips, int count, double damping, double *inverse) {
    soa_status s = begin(m, t, tips, count, damping);
    if (s == SOA_OK && !inverse) s = SOA_E_ARGUMENT;
    if (s == SOA_OK && m->nm && !(damping > 0)) s = SOA_E_MIMIC;
    for (int j = 0; s == SOA_OK && j < m->nv; ++j)
        t->check[j] = 0;
    if (s || (s = told(t, soai_minv_mul_articulated(t->twin, t->work, q, t->check, t->step))) ||
        (s = judge_pivots(t)))
        return s;
    return told(t, soa_minv(t->twin, t->work, q, inverse));
}
