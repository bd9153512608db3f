/* control.c  the controller's model: laying out, the recursion of WD89 section 3, the machine's own
 *            torques.
 *
 * recursion   f_j = F_j + sum f of children,  rho = s' f + eta,  tau = E' rho.  It is soa_rnea's
 *             inward sweep: bodies
 * at
 *             rest without gravity feel nothing but F, given as external forces -F.
 * passive     M_uu a_u = -(M_ua a_a + h_u): what nobody drives moves so that its torques vanish.
 *             M_uu by one mass_mul for each u, then a Cholesky factor; what others drive may follow
 *             u in it. */
#include "control_internal.h"
#include "../base/small_algebra.h"
#include "../constraint/constraint_internal.h"
#include <math.h>
#include <stdlib.h>

soa_control_def soa_control_default(const unsigned char *drive) {
    return (soa_control_def){
        .drive = drive, .compensate = SOA_COMPENSATE_DEFAULT, .coulomb_rate = 1e-3};
}

/* --- laying out ------------------------------------------------------------------------------- */
static int drive_of(const soa_control_def *def, int j) {
    return def->drive ? def->drive[j] : SOA_DRIVE_OWN;
}
static int root_of(const soa_model *m, int body) {
    while (soai_bodies(m)[body].parent)
        body = soai_bodies(m)[body].parent;
    return body;
}
/* Whether a tree has a coordinate that somebody drives. */
static int tree_is_driven(const soa_model *m, const soa_control_def *def, int root) {
    for (int i = 1; i <= m->nb; ++i) {
        const soai_meta *e = soai_metas(m) + i;
        if (e->leader >= 0 || root_of(m, i) != root) continue;
        for (int k = 0; k < soai_bodies(m)[i].nv; ++k)
            if (drive_of(def, e->user_v + k) != SOA_DRIVE_NONE) return 1;
    }
    return 0;
}
/* Numbers of u and, after them, of what others drive; list may be NULL. */
static int list_free(const soa_model *m, const soa_control_def *def, int *list, int *passives) {
    int n = 0;
    for (int i = 1; i <= m->nb; ++i) {
        const soai_meta *e = soai_metas(m) + i;
        if (e->leader >= 0) continue;
        int driven = -1;
        for (int k = 0; k < soai_bodies(m)[i].nv; ++k) {
            if (drive_of(def, e->user_v + k) != SOA_DRIVE_NONE) continue;
            if (driven < 0) driven = tree_is_driven(m, def, root_of(m, i));
            if (!driven) break;
            if (list) list[n] = e->user_v + k;
            ++n;
        }
    }
    *passives = n;
    for (int j = 0; j < m->nv; ++j) {
        if (drive_of(def, j) != SOA_DRIVE_OTHER) continue;
        if (list) list[n] = j;
        ++n;
    }
    return n;
}

static size_t layout(const soa_model *m, const soa_control_def *def, char *memory) {
    soa_control scratch, *c = memory ? (soa_control *)(void *)memory : &scratch;
    size_t at = 0;
    const size_t nv = (size_t)m->nv, nq = (size_t)m->nq, number = sizeof(double),
                 T = SOAI_TASK_ROWS;
    int passives;
    const int number_free = list_free(m, def, NULL, &passives);
    const size_t nf = (size_t)number_free;
    soai_take(memory, &at, sizeof *c);
    if (memory) memset(memory, 0, sizeof *c);
    void *work = soai_take(memory, &at, soa_work_size(m));
    c->drive = soai_take(memory, &at, nv);
    c->passive = soai_take(memory, &at, nf * sizeof(int));
    c->M_ff = soai_take(memory, &at, nf * nf * number);
    c->small = soai_take(memory, &at, nf * number);
    c->hands_u = soai_take(memory, &at, 6 * (SOA_HANDS + 1) * nf * number);
    c->base_f = soai_take(memory, &at, 6 * T * number);
    c->q_ref = soai_take(memory, &at, nq * number);
    for (int i = 0; i < SOAI_CONTROL_VECTORS; ++i)
        c->x[i] = soai_take(memory, &at, nv * number);
    c->unit = soai_take(memory, &at, nv * number);
    c->column = soai_take(memory, &at, nv * number);
    c->rows = soai_take(memory, &at, T * nv * number);
    c->rows_f = soai_take(memory, &at, T * nf * number);
    c->whole = soai_take(memory, &at, 4 * T * T * number);
    c->base = soai_take(memory, &at, 6 * nv * number);
    c->driven = soai_take(memory, &at, (size_t)m->nb + 1);
    c->omega = soai_take(memory, &at, T * T * number);
    c->lambda = soai_take(memory, &at, T * T * number);
    c->factor = soai_take(memory, &at, T * T * number);
    soai_closed loops = {.constraints = def->constraints};
    if (def->constraints) {
        const size_t rows = (size_t)def->constraints->capacity.rows;
        loops.primary = soai_take(memory, &at, nv);
        loops.dependent = soai_take(memory, &at, nv);
        loops.which = soai_take(memory, &at, rows * sizeof(int));
        loops.choice = soai_take(memory, &at, nv * sizeof(int));
        loops.G = soai_take(memory, &at, rows * nv * number);
        loops.row_size = soai_take(memory, &at, rows * number);
        double **const lists[] = {&loops.b, &loops.x, &loops.force, &loops.spare};
        for (size_t i = 0; i < sizeof lists / sizeof *lists; ++i)
            *lists[i] = soai_take(memory, &at, nv * number);
        double **const squares[] = {&loops.r, &loops.A, &loops.inertia, &loops.factor,
                                    &loops.inverse};
        for (size_t i = 0; i < sizeof squares / sizeof *squares; ++i)
            *squares[i] = soai_take(memory, &at, nv * nv * number);
        loops.task = soai_take(memory, &at, T * nv * number);
    }
    if (memory) {
        c->closed = loops;
        for (size_t j = 0; def->constraints && j < nv; ++j)
            loops.primary[j] = def->primary ? def->primary[j] != 0 : 0;
        c->model = m;
        c->nq = m->nq;
        c->nv = m->nv;
        c->compensate = def->compensate;
        c->coulomb_rate = def->coulomb_rate;
        c->free = list_free(m, def, c->passive, &c->passives);
        memset(c->driven, 0, (size_t)m->nb + 1);
        for (int i = 1; i <= m->nb; ++i) { /* parents first */
            const int parent = soai_bodies(m)[i].parent;
            c->driven[i] = parent ? c->driven[parent] : (unsigned char)tree_is_driven(m, def, i);
        }
        for (int j = 0; j < m->nv; ++j)
            c->drive[j] = (unsigned char)drive_of(def, j);
        soa_work_init(m, work, soa_work_size(m), &c->work);
    }
    return at;
}
static int def_fits(const soa_model *m, const soa_control_def *def) {
    if (!m || !def || (def->compensate & ~(unsigned)SOA_COMPENSATE_ALL) || !(def->coulomb_rate > 0))
        return 0;
    if (def->constraints && soa_constraints_model(def->constraints) != m) return 0;
    for (int i = 0; def->constraints && i < def->constraints->capacity.constraints; ++i) {
        soa_constraint_def one;
        /* laws have no time */
        if (!soa_constraints_get_def(def->constraints, i, &one) && one.drive) return 0;
    }
    for (int j = 0; def->drive && j < m->nv; ++j)
        if (def->drive[j] > SOA_DRIVE_OTHER) return 0;
    return 1;
}
size_t soa_control_size(const soa_model *m, const soa_control_def *def) {
    return def_fits(m, def) ? layout(m, def, NULL) : 0;
}
soa_status soa_control_init(const soa_model *m, const soa_control_def *def, void *memory,
                            size_t size, soa_control **control) {
    if (!def_fits(m, def) || !control) return SOA_E_ARGUMENT;
    if (!memory || (uintptr_t)memory % SOAI_ALIGN || size < layout(m, def, NULL))
        return SOA_E_MEMORY;
    layout(m, def, memory);
    *control = memory;
    return SOA_OK;
}
soa_status soa_control_create(const soa_model *m, const soa_control_def *def,
                              soa_control **control) {
    if (!def_fits(m, def) || !control) return SOA_E_ARGUMENT;
    const size_t size = (layout(m, def, NULL) + SOAI_ALIGN - 1) / SOAI_ALIGN * SOAI_ALIGN;
    void *memory = aligned_alloc(SOAI_ALIGN, size);
    return memory ? soa_control_init(m, def, memory, size, control) : SOA_E_MEMORY;
}
void soa_control_free(soa_control *c) {
    free(c);
}
soa_work *soa_control_work(soa_control *c) {
    return c ? c->work : NULL;
}
const soa_model *soa_control_model(const soa_control *c) {
    return c ? c->model : NULL;
}

int soai_frame_is_driven(const soa_control *c, int frame) {
    return c->driven[SOAI_AT(c->model, soai_frame_row, frame)[frame].body];
}
soa_status soai_control_begin(soa_control *c, const double *q, const double *v) {
    if (!c || !q || !v) return SOA_E_ARGUMENT;
    return soai_check_state(c->model, q, v, NULL, NULL, &c->work->body);
}

/* --- the machine's own torques ---------------------------------------------------------------- */
/* tau += what friction and springs of `which` take, tree coordinates. */
static void add_losses(const soa_control *c, const double *tq, const double *tv, unsigned which,
                       double *tau) {
    const soai_view_double *k = &c->work->view;
    if (!k->losses) return;
    for (int i = 1; i <= k->nb; ++i) {
        const soai_body_double *b = k->body + i;
        const int has_q = b->kind != SOAI_KIND_SPHERICAL && b->kind != SOAI_KIND_FREE;
        for (int j = 0; j < b->nv; ++j) {
            const soai_dof_double *d = k->dof + b->iv + j;
            const double v = tv[b->iv + j];
            double sum = 0;
            if (which & SOA_COMPENSATE_VISCOUS) sum += d->damping * v;
            if (which & SOA_COMPENSATE_COULOMB)
                sum += (v > 0 ? d->friction_positive : d->friction_negative) *
                       tanh(v / c->coulomb_rate);
            if (which & SOAI_COULOMB_SIGN)
                sum += (v > 0) * d->friction_positive - (v < 0) * d->friction_negative;
            if ((which & SOA_COMPENSATE_SPRINGS) && has_q)
                sum += d->stiffness * (tq[b->iq + j] - d->rest);
            tau[b->iv + j] += sum;
        }
    }
}
soa_status soai_control_torques(soa_control *c, const double *q, const double *v, const double *a,
                                const soa_wrench *wrenches, int wrench_count, unsigned which,
                                double *tau) {
    soai_inputs in;
    soa_work *w = c->work;
    const soa_input input = {
        .q = q, .v = v, .a = a, .wrenches = wrenches, .wrench_count = wrench_count};
    const soa_status s = soai_enter_inverse(c->model, w, &input, &in);
    if (s) return s;
    soai_view_double view = w->aligned;
    view.losses = 0;
    if (!(which & SOA_COMPENSATE_GRAVITY)) view.gravity[0] = view.gravity[1] = view.gravity[2] = 0;
    double *out = c->model->nm ? w->tt : tau;
    const double *fext = soai_wrenches_to_chosen(w, in.fext ? w->fext : NULL);
    w->k->rnea(&view, &w->w, in.q, which & SOA_COMPENSATE_CORIOLIS ? in.v : w->zero, in.a, fext,
               out);
    add_losses(c, in.q, in.v, which, out);
    if (c->model->nm) user_torque(w, out, tau);
    return SOA_OK;
}
soa_status soa_control_compensation(soa_control *c, const double *q, const double *v,
                                    const double *a, const soa_wrench *wrenches, int wrench_count,
                                    double *tau) {
    soa_status s = soai_control_begin(c, q, v);
    if (s == SOA_OK && !tau) s = SOA_E_ARGUMENT;
    if (s || (c->closed.constraints && a)) return s ? s : SOA_E_ARGUMENT;
    double *torque = c->x[SOAI_CONTROL_VECTORS - 1];
    if ((s = soai_control_torques(c, q, v, a, wrenches, wrench_count, c->compensate, torque)) ||
        (s = soai_closed_add_cut(c, q, v, torque)))
        return s;
    return soai_control_write(c, q, torque, tau);
}

/* --- what nobody drives ----------------------------------------------------------------------- */
/* Least pivot of its diagonal entry: below it only rounding errors are left. */
static const double least_pivot = 1e-14;
soa_status soai_passive_factor(soa_control *c, const double *q, int n) {
    if (!n) return SOA_OK;
    soai_inputs in;
    soa_work *w = c->work;
    const soa_status s = soai_enter_inverse(c->model, w, &(soa_input){.q = q}, &in);
    if (s) return s;
    w->k->positions(&w->view, &w->w, in.q);
    for (int j = 0; j < c->nv; ++j)
        c->unit[j] = 0;
    for (int k = 0; k < n; ++k) {
        double *out = c->model->nm ? w->tt : c->column;
        c->unit[c->passive[k]] = 1;
        w->k->mass_mul(&w->view, &w->w, tree_motion(w, c->unit, w->tv), out);
        if (c->model->nm) user_torque(w, out, c->column);
        c->unit[c->passive[k]] = 0;
        for (int i = k; i < n; ++i)
            c->M_ff[c->free * i + k] = c->column[c->passive[i]];
    }
    return soai_cholesky(n, c->free, c->M_ff, least_pivot) ? SOA_OK : SOA_E_SINGULAR;
}
void soai_passive_solve(const soa_control *c, int n, double *x) {
    soai_cholesky_solve(n, c->free, c->M_ff, x);
}
void soai_passive_cancel(soa_control *c, const double *torque, double *a) {
    for (int k = 0; k < c->passives; ++k)
        c->small[k] = -torque[c->passive[k]];
    soai_passive_solve(c, c->passives, c->small);
    for (int k = 0; k < c->passives; ++k)
        a[c->passive[k]] = c->small[k];
}
soa_status soai_passive_accelerations(soa_control *c, const double *q, const double *v,
                                      const soa_wrench *wrenches, int wrench_count, double *a) {
    for (int j = 0; j < c->nv; ++j)
        if (c->drive[j] == SOA_DRIVE_NONE) a[j] = 0;
    const soa_status s =
        soai_control_torques(c, q, v, a, wrenches, wrench_count, c->compensate, c->column);
    if (s == SOA_OK && c->passives) soai_passive_cancel(c, c->column, a);
    return s;
}
soa_status soa_control_passive_acceleration(soa_control *c, const double *q, const double *v,
                                            const soa_wrench *wrenches, int wrench_count,
                                            double *a) {
    soa_status s = soai_control_begin(c, q, v);
    if (s == SOA_OK && !a) s = SOA_E_ARGUMENT;
    if (s || (s = soai_passive_factor(c, q, c->passives))) return s;
    double *all = c->x[SOAI_CONTROL_VECTORS - 1];
    memcpy(all, a, (size_t)c->nv * sizeof *all);
    if ((s = soai_passive_accelerations(c, q, v, wrenches, wrench_count, all))) return s;
    memcpy(a, all, (size_t)c->nv * sizeof *a);
    return SOA_OK;
}

/* --- WD89 section 3 --------------------------------------------------------------------------- */
soa_status soa_control_recursion(soa_control *c, const double *q, const soa_feedback *feedback,
                                 double *rho, double *tau) {
    if (!feedback) return SOA_E_ARGUMENT;
    const double *F = feedback->F;
    const double *eta = feedback->eta;
    int rows = feedback->rows;
    const double *E = feedback->E;
    int columns = feedback->columns;
    if (!c || !q || !tau || (E ? rows < c->nv || columns < 1 : rows != c->nv))
        return SOA_E_ARGUMENT;
    const soa_model *m = c->model;
    if ((F && !soai_all_finite(F, 6 * (size_t)m->nb)) ||
        (eta && !soai_all_finite(eta, (size_t)rows)) ||
        (E && !soai_all_finite(E, (size_t)rows * (size_t)columns)))
        return SOA_E_NOT_FINITE;
    soai_inputs in;
    soa_work *w = c->work;
    const soa_status s = soai_enter_inverse(m, w, &(soa_input){.q = q}, &in);
    if (s) return s;
    soai_view_double view = w->aligned;
    view.losses = 0;
    view.gravity[0] = view.gravity[1] = view.gravity[2] = 0;
    for (int j = 0; j < 6 * m->nb; ++j)
        w->fext[j] = F ? -F[j] : 0;
    double *out = m->nm ? w->tt : c->column; /* s' f */
    w->k->rnea(&view, &w->w, in.q, w->zero, w->zero, soai_wrenches_to_chosen(w, w->fext), out);
    if (m->nm) user_torque(w, out, c->column);
    for (int j = 0; eta && j < c->nv; ++j)
        c->column[j] += eta[j];
    for (int k = 0; E && k < columns; ++k) { /* tau = E' rho */
        double sum = 0;
        for (int j = 0; j < rows; ++j) {
            const double more = eta && j >= c->nv ? eta[j] : 0;
            sum += E[(size_t)j * (size_t)columns + (size_t)k] * (j < c->nv ? c->column[j] : more);
        }
        tau[k] = sum;
    }
    for (int j = 0; !E && j < c->nv; ++j)
        tau[j] = c->column[j];
    for (int j = 0; rho && j < rows; ++j) {
        if (j < c->nv) {
            rho[j] = c->column[j];
        } else if (eta) {
            rho[j] = eta[j];
        } else {
            rho[j] = 0;
        }
    }
    return SOA_OK;
}

soa_status soa_control_inverse_feedback(soa_control *c, const double *q, const double *v,
                                        const double *a, double *F, double *eta) {
    soa_status s = soai_control_begin(c, q, v);
    if (s == SOA_OK && (!F || !eta)) s = SOA_E_ARGUMENT;
    if (s) return s;
    const soa_model *m = c->model;
    soa_work *w = c->work;
    soai_inputs in;
    if ((s = soai_enter_inverse(m, w, &(soa_input){.q = q, .v = v, .a = a}, &in))) return s;
    const int coriolis = (c->compensate & SOA_COMPENSATE_CORIOLIS) != 0;
    const double *still = coriolis ? in.v : w->zero;
    w->k->kinematics(&w->view, &w->w, in.q, still, in.a);
    double up[3], *tree = m->nm ? w->tt : c->column;
    for (int j = 0; j < 3; ++j)
        up[j] = c->compensate & SOA_COMPENSATE_GRAVITY ? -m->gravity[j] : 0;
    for (int j = 0; j < 6 * m->nb; ++j)
        F[j] = 0;
    for (int j = 0; j < m->tv; ++j)
        tree[j] = w->view.dof[j].armature * in.a[j];
    add_losses(c, in.q, in.v, c->compensate, tree);
    for (int i = 1; i <= m->nb; ++i) {
        const soai_body_double *b = w->view.body + i;
        const double *V = w->w.b[i].V;
        double A[6], g[3], h[6], x[6], *Fi = F + 6 * (i - 1);
        v6_copy(w->w.b[i].A, A);
        rot_tmul(w->w.Rw + 9 * i, up, g);
        for (int j = 0; j < 3; ++j)
            A[3 + j] += g[j];
        rigid_mul_k(b->M, V, h);
        cross_force(V, h, x);
        rigid_mul_k(b->M, A, h);
        for (int j = 0; j < 6; ++j)
            Fi[j] += h[j] + x[j]; /* F = I v' + v x* I v */
        if (!b->rotor || !b->parent) continue;
        /* an exact rotor: its couple on the carrier, and what it feels of the carrier's turning
         * (steps.h) */
        const double *r = w->view.dof[b->iv].rotor, *Vp = w->w.b[b->parent].V,
                     *Ap = w->w.b[b->parent].A;
        double *Fp = F + 6 * (b->parent - 1);
        v3_cross(Vp, r, g);
        for (int j = 0; j < 3; ++j)
            Fp[j] += g[j] * still[b->iv] + r[j] * in.a[b->iv];
        tree[b->iv] += v3_dot(r, Ap);
    }
    if (m->nm)
        user_torque(w, tree, eta);
    else
        memcpy(eta, tree, (size_t)c->nv * sizeof *eta);
    return SOA_OK;
}
