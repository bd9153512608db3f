/* save.c  a model as bytes, and the check of a buffer that comes from outside (files:
 * model_file.c).
 *
 * The checksum finds accidental damage. Against deliberate changes every number used as an index or
 * size is checked too: the integers of the tables must be those that follow from parents and joint
 * types. */
#include "model_internal.h"
#include <math.h>
#include <stdlib.h>

#define BAD(code, ...) return soai_report(report, code, -1, 0, __VA_ARGS__)

static uint64_t checksum_of(const soa_model *m) {
    soa_model head = *m; /* the checksum's own field counts as zero */
    head.checksum = 0;
    uint64_t h = soai_checksum(&head, sizeof head);
    const unsigned char *p = (const unsigned char *)m;
    for (uint64_t i = sizeof head; i < m->size; ++i)
        h = (h ^ p[i]) * 1099511628211u;
    return h;
}

/* The tables of a model that is being checked. */
typedef struct tables {
    const soa_model *m;
    const soai_body_double *body;
    const soai_body_float *body_f;
    const soai_meta *meta;
    const soai_map *map_q, *map_v;
    const soai_mimic_double *mimic;
    const soai_mimic_float *mimic_f;
} tables;
/* Coordinates counted so far: in the tree, in the caller's vectors, and mimic joints. */
typedef struct counts {
    int64_t iq, iv, id, uq, uv, nm;
} counts;

static int text_fits(const soa_model *m, int64_t text) {
    return text >= 0 && text < (int64_t)m->text_size;
}

static int world_fits(const tables *t) {
    const soai_body_double *b = t->body;
    const int stuck = t->meta->stuck, nb = t->m->nb;
    return !b->parent && !b->nv && !b->type && b->child >= 0 && b->child <= nb && stuck >= 0 &&
           stuck <= nb;
}
/* Do the integers of body i follow from its parent and its joint type? */
static int body_fits(const tables *t, const counts *at, int i) {
    const soai_body_double *body = t->body, *b = body + i;
    const soa_joint_type type = (soa_joint_type)b->type;
    const int nv = soai_nv_of(type), nb = t->m->nb;
    if (b->parent < 0 || b->parent >= i || body[b->parent].child < i) return 0;
    if (b->kind != soai_kind_of(type, b->axis, b->rotor != 0 || b->hinge > 0)) return 0;
    if (b->nv != nv || b->iq != at->iq || b->iv != at->iv || b->id != at->id) return 0;
    if (b->rotor != 0 && nv != 1) return 0;
    if (b->run != (b->parent && b->parent == i - 1 ? b[-1].run : i)) return 0;
    if (b->starts != soai_starts(body, i) || b->levers != (b->child != 0)) return 0;
    if (b->path != i || b->path_in != b->parent || b->own) return 0;
    if (b->child && (b->child <= i || b->child > nb || body[b->child].parent != i)) return 0;
    return b->end == soai_end(body, i);
}
static int meta_fits(const tables *t, const counts *at, int i) {
    const soai_meta *e = t->meta + i;
    const int follows = e->leader >= 0;
    return text_fits(t->m, e->link_text) && text_fits(t->m, e->joint_text) && e->frame >= 1 &&
           e->frame < t->m->frames && e->leader >= -1 && e->leader <= t->m->nb &&
           e->user_q == (follows ? -1 : at->uq) && e->user_v == (follows ? -1 : at->uv) &&
           !(follows && t->body[i].nv != 1);
}
static soa_status check_bodies(const tables *t, soa_report *report) {
    const soa_model *m = t->m;
    counts at = {0};
    for (int i = 0; i <= m->nb; ++i) {
        if (memcmp(t->body + i, t->body_f + i, offsetof(soai_body_double, R0)))
            BAD(SOA_E_FORMAT, "body %d: its two tables differ", i);
        if (i == 0 && !world_fits(t)) BAD(SOA_E_FORMAT, "body 0 is not the world");
        if (i == 0) continue;
        const int number = t->body[i].type;
        if (number <= SOA_FIXED || number >= SOA_JOINT_TYPE_COUNT)
            BAD(SOA_E_FORMAT, "body %d: joint type %d", i, number);
        if (!body_fits(t, &at, i))
            BAD(SOA_E_FORMAT, "body %d: its row of the table does not fit its joint", i);
        if (!meta_fits(t, &at, i)) BAD(SOA_E_FORMAT, "body %d: its description is damaged", i);
        const int nv = soai_nv_of((soa_joint_type)number), nq = soai_nq_of((soa_joint_type)number);
        if (t->meta[i].leader < 0) {
            at.uq += nq;
            at.uv += nv;
        } else {
            ++at.nm;
        }
        at.iq += nq;
        at.iv += nv;
        at.id += nv * nv;
    }
    if (at.iq != m->tq || at.iv != m->tv || at.id != m->nd || at.nm != m->nm || at.uq != m->nq ||
        at.uv != m->nv)
        BAD(SOA_E_FORMAT, "the counts of coordinates do not fit the joints");
    return SOA_OK;
}

/* Does row k of the mimic joints tie body i to its leader? */
static int follower_fits(const tables *t, int i, int k) {
    const int leader = t->meta[i].leader;
    const soai_body_double *own = t->body + i, *lead = t->body + leader;
    const soai_mimic_double *row = t->mimic + k;
    const soai_mimic_float *row_f = t->mimic_f + k;
    if (leader < 1 || lead->nv != 1 || t->meta[leader].leader >= 0 || k >= t->m->nm) return 0;
    return row->follower == own->iv && row->leader == lead->iv &&
           row_f->follower == row->follower && row_f->leader == row->leader &&
           t->map_q[own->iq].user == t->meta[leader].user_q &&
           t->map_v[own->iv].user == t->meta[leader].user_v;
}
static int map_fits(const tables *t, int i) {
    const soai_body_double *own = t->body + i;
    const soai_meta *e = t->meta + i;
    const int nq = soai_nq_of((soa_joint_type)own->type);
    for (int c = 0; c < nq; ++c)
        if (t->map_q[own->iq + c].user != e->user_q + c) return 0;
    for (int c = 0; c < own->nv; ++c)
        if (t->map_v[own->iv + c].user != e->user_v + c) return 0;
    return 1;
}
static soa_status check_maps(const tables *t, soa_report *report) {
    for (int i = 1, k = 0; i <= t->m->nb; ++i) {
        const int follows = t->meta[i].leader >= 0;
        const int fits = follows ? follower_fits(t, i, k) : map_fits(t, i);
        if (!fits) BAD(SOA_E_FORMAT, "body %d: the map of its coordinates is damaged", i);
        k += follows;
    }
    return SOA_OK;
}
/* Rows of mimic joints: followers first, then their leaders in ascending order. */
static soa_status check_mimic(const tables *t, soa_report *report) {
    const soa_model *m = t->m;
    const soai_body_double *body = t->body;
    for (int k = m->nm, i = 1; k < m->nm + m->held; ++k, ++i) {
        const soai_mimic_double *row = t->mimic + k;
        while (i <= m->nb && body[i].iv != row->leader)
            ++i;
        if (i > m->nb || body[i].nv != 1 || t->meta[i].leader >= 0 ||
            row->follower != row->leader || t->mimic_f[k].follower != row->leader ||
            t->mimic_f[k].leader != row->leader)
            BAD(SOA_E_FORMAT, "row %d of its leaders is damaged", (int)(k - m->nm));
    }
    for (int k = 0; k < m->nm + m->held; ++k) {
        const double ratio = t->mimic[k].ratio, hold = t->mimic[k].hold;
        const int fits = k < m->nm ? hold == 0 : hold > 0 && ratio == 0;
        if (!isfinite(ratio) || !isfinite(hold) || !fits || t->mimic_f[k].ratio != (float)ratio ||
            t->mimic_f[k].hold != (float)hold)
            BAD(SOA_E_FORMAT, "row %d of its mimic joints is damaged", k);
    }
    return SOA_OK;
}

static soa_status check_numbers(const tables *t, soa_report *report) {
    const soa_model *m = t->m;
    const size_t count =
        (sizeof(soai_body_double) - offsetof(soai_body_double, R0)) / sizeof(double);
    for (int i = 1; i <= m->nb; ++i) {
        const char *row = (const char *)(t->body + i);
        const void *numbers = row + offsetof(soai_body_double, R0);
        if (!soai_all_finite(numbers, count))
            BAD(SOA_E_FORMAT, "body %d: a constant is not finite", i);
        double packs[24];
        soai_inertia_packs(t->body[i].M, packs);
        if (memcmp(packs, t->body[i].P, sizeof packs))
            BAD(SOA_E_FORMAT, "body %d: its two inertias differ", i);
    }
    if (m->tv && !soai_all_finite((const double *)SOAI_AT(m, soai_dof_double, dof_d),
                                  (size_t)m->tv * sizeof(soai_dof_double) / sizeof(double)))
        BAD(SOA_E_FORMAT, "a joint's constant is not finite");
    return SOA_OK;
}

static soa_status check_tables(const soa_model *m, soa_report *report) {
    const tables t = {.m = m,
                      .body = soai_bodies(m),
                      .body_f = SOAI_AT(m, soai_body_float, body_f),
                      .meta = soai_metas(m),
                      .map_q = SOAI_AT(m, soai_map, map_q),
                      .map_v = SOAI_AT(m, soai_map, map_v),
                      .mimic = SOAI_AT(m, soai_mimic_double, mimic_d),
                      .mimic_f = SOAI_AT(m, soai_mimic_float, mimic_f)};
    const soai_frame_row *frame = SOAI_AT(m, soai_frame_row, frame);
    const char *text = SOAI_AT(m, char, text);
    const int64_t words = (int64_t)m->text_size;
    if (words < 1 || text[words - 1] != 0 || !text_fits(m, m->name_text))
        BAD(SOA_E_FORMAT, "the names are damaged");
    if (!soai_all_finite(m->gravity, 3)) BAD(SOA_E_FORMAT, "gravity is not a finite vector");
    soa_status s = check_bodies(&t, report);
    if (s || (s = check_maps(&t, report)) || (s = check_mimic(&t, report))) return s;
    for (int i = 0; i < m->frames; ++i)
        if (!text_fits(m, frame[i].text) || frame[i].body < 0 || frame[i].body > m->nb)
            BAD(SOA_E_FORMAT, "frame %d is damaged", i);
    return check_numbers(&t, report);
}

soa_status soa_model_from_bytes(const void *buffer, size_t size, const soa_model **model,
                                soa_report *report) {
    soai_report_reset(report);
    if (!buffer || !model) BAD(SOA_E_ARGUMENT, "no buffer");
    if ((uintptr_t)buffer % SOAI_ALIGN)
        BAD(SOA_E_MEMORY, "the buffer is not aligned to %u bytes", SOAI_ALIGN);
    const soa_model *m = buffer;
    if (size < 8 || memcmp(m->magic, SOAI_MODEL_MAGIC, 8))
        BAD(SOA_E_FORMAT, "not a saved model (no \"%s\" at its start)", SOAI_MODEL_MAGIC);
    if (size < sizeof *m)
        BAD(SOA_E_FORMAT, "cut short: %lu bytes are less than its header", (unsigned long)size);
    if (m->order != SOAI_MODEL_ORDER)
        BAD(SOA_E_FORMAT, "saved on a machine with another byte order");
    if (m->version != SOAI_MODEL_VERSION)
        BAD(SOA_E_VERSION, "saved in version %u of the format, this library reads %u",
            (unsigned)m->version, (unsigned)SOAI_MODEL_VERSION);
    if (m->size > size)
        BAD(SOA_E_FORMAT, "cut short: %.0f bytes needed, %lu there", (double)m->size,
            (unsigned long)size);
    if (m->nb < 0 || m->nb > SOAI_MAX_BODIES || m->tq < 0 || m->tv < 0 ||
        m->tq > 7 * SOAI_MAX_BODIES || m->tv > 6 * SOAI_MAX_BODIES || m->nd < 0 ||
        m->nd > 36 * SOAI_MAX_BODIES || m->nm < 0 || m->nm > m->nb || m->held < 0 ||
        m->held > m->nm || m->stuck_free < 0 || m->stuck_free > m->nb || m->frames < 1 ||
        m->frames > 2 * SOAI_MAX_BODIES + 2 || m->text_size > (1u << 31) - 1u)
        BAD(SOA_E_FORMAT, "the counts in its header are out of range");
    soa_model expected = *m;
    if (soai_model_place(&expected) != m->size || memcmp(&expected, m, sizeof expected))
        BAD(SOA_E_FORMAT, "its sections are not where they belong");
    if (checksum_of(m) != m->checksum) BAD(SOA_E_CHECKSUM, "damaged: the checksum does not match");
    const soa_status s = check_tables(m, report);
    if (s == SOA_OK) *model = m;
    return soai_report_end(report, s);
}

soa_status soa_model_with_gravity(const soa_model *m, const double gravity[3],
                                  const soa_model **copy) {
    if (!m || !gravity || !copy) return SOA_E_ARGUMENT;
    if (!soai_all_finite(gravity, 3)) return SOA_E_NOT_FINITE;
    soa_model *c = aligned_alloc(SOAI_ALIGN, (size_t)m->size);
    if (!c) return SOA_E_MEMORY;
    memcpy(c, m, (size_t)m->size);
    memcpy(c->gravity, gravity, sizeof c->gravity);
    c->checksum = checksum_of(c);
    *copy = c;
    return SOA_OK;
}

soa_status soa_model_without_losses(const soa_model *m, unsigned losses, const soa_model **copy) {
    if (!m || !copy || (losses & ~(unsigned)(SOA_FRICTION | SOA_SPRINGS))) return SOA_E_ARGUMENT;
    soa_model *c = aligned_alloc(SOAI_ALIGN, (size_t)m->size);
    if (!c) return SOA_E_MEMORY;
    memcpy(c, m, (size_t)m->size);
    char *bytes = (char *)c;
    soai_dof_double *dof = (soai_dof_double *)(void *)(bytes + c->dof_d);
    soai_dof_float *dof_f = (soai_dof_float *)(void *)(bytes + c->dof_f);
    soai_meta *meta = (soai_meta *)(void *)(bytes + c->meta);
    c->losses = 0;
    for (int i = 1; i <= c->nb; ++i) {
        if (losses & SOA_FRICTION)
            meta[i].damping = meta[i].friction_positive = meta[i].friction_negative = 0;
        if (losses & SOA_SPRINGS) meta[i].stiffness = meta[i].rest = 0;
    }
    for (int j = 0; j < c->tv; ++j) {
        if (losses & SOA_FRICTION) {
            dof[j].damping = dof[j].friction_positive = dof[j].friction_negative = 0;
            dof_f[j].damping = dof_f[j].friction_positive = dof_f[j].friction_negative = 0;
        }
        if (losses & SOA_SPRINGS) {
            dof[j].stiffness = dof[j].rest = 0;
            dof_f[j].stiffness = dof_f[j].rest = 0;
        }
        if (dof[j].damping != 0 || dof[j].friction_positive != 0 || dof[j].friction_negative != 0 ||
            dof[j].stiffness != 0)
            c->losses = 1;
    }
    c->checksum = checksum_of(c);
    *copy = c;
    return SOA_OK;
}
