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

static soa_status check_tables(const soa_model *m, soa_report *report) {
    const soai_body_double *body = soai_bodies(m);
    const soai_body_float *body_f = SOAI_AT(m, soai_body_float, body_f);
    const soai_meta *meta = soai_metas(m);
    const soai_map *map_q = SOAI_AT(m, soai_map, map_q), *map_v = SOAI_AT(m, soai_map, map_v);
    const soai_mimic_double *mimic = SOAI_AT(m, soai_mimic_double, mimic_d);
    const soai_mimic_float *mimic_f = SOAI_AT(m, soai_mimic_float, mimic_f);
    const soai_frame_row *frame = SOAI_AT(m, soai_frame_row, frame);
    const char *text = SOAI_AT(m, char, text);
    const int64_t words = (int64_t)m->text_size;
#define TEXT_FITS(t) ((t) >= 0 && (t) < words)
    if (words < 1 || text[words - 1] != 0 || !TEXT_FITS(m->name_text))
        BAD(SOA_E_FORMAT, "the names are damaged");
    if (!soai_all_finite(m->gravity, 3)) BAD(SOA_E_FORMAT, "gravity is not a finite vector");
    int64_t iq = 0, iv = 0, id = 0, uq = 0, uv = 0, nm = 0;
    for (int i = 0; i <= m->nb; ++i) {
        const soai_body_double *t = body + i;
        const soai_meta *e = meta + i;
        if (memcmp(t, body_f + i, offsetof(soai_body_double, R0)))
            BAD(SOA_E_FORMAT, "body %d: its two tables differ", i);
        if (i == 0) {
            if (t->parent || t->nv || t->type || t->child < 0 || t->child > m->nb || e->stuck < 0 ||
                e->stuck > m->nb)
                BAD(SOA_E_FORMAT, "body 0 is not the world");
            continue;
        }
        if (t->type <= SOA_FIXED || t->type >= SOA_JOINT_TYPE_COUNT)
            BAD(SOA_E_FORMAT, "body %d: joint type %d", i, t->type);
        const soa_joint_type type = (soa_joint_type)t->type;
        const int nv = soai_nv_of(type), nq = soai_nq_of(type);
        if (t->parent < 0 || t->parent >= i ||
            t->kind != soai_kind_of(type, t->axis, t->rotor != 0 || t->hinge > 0) || t->nv != nv ||
            t->iq != iq || t->iv != iv || t->id != id || (t->rotor != 0 && nv != 1) ||
            body[t->parent].child < i ||
            t->run != (t->parent && t->parent == i - 1 ? t[-1].run : i) ||
            t->starts != soai_starts(body, i) || t->levers != (t->child != 0) || t->path != i ||
            t->path_in != t->parent ||
            (t->child && (t->child <= i || t->child > m->nb || body[t->child].parent != i)) ||
            t->end != soai_end(body, i) || t->own)
            BAD(SOA_E_FORMAT, "body %d: its row of the table does not fit its joint", i);
        const int follows = e->leader >= 0;
        if (!TEXT_FITS(e->link_text) || !TEXT_FITS(e->joint_text) || e->frame < 1 ||
            e->frame >= m->frames || e->leader < -1 || e->leader > m->nb ||
            e->user_q != (follows ? -1 : uq) || e->user_v != (follows ? -1 : uv) ||
            (follows && nv != 1))
            BAD(SOA_E_FORMAT, "body %d: its description is damaged", i);
        if (!follows) {
            uq += nq;
            uv += nv;
        }
        iq += nq;
        iv += nv;
        id += nv * nv;
        nm += follows;
    }
    if (iq != m->tq || iv != m->tv || id != m->nd || nm != m->nm || uq != m->nq || uv != m->nv)
        BAD(SOA_E_FORMAT, "the counts of coordinates do not fit the joints");
    for (int i = 1, k = 0; i <= m->nb; ++i) {
        const soai_meta *e = meta + i;
        const int nv = body[i].nv, nq = soai_nq_of((soa_joint_type)body[i].type);
        int fits = 1;
        if (e->leader >= 0) {
            const soai_meta *lead = meta + e->leader;
            fits = e->leader >= 1 && body[e->leader].nv == 1 && lead->leader < 0 && k < m->nm;
            fits =
                fits && mimic[k].follower == body[i].iv && mimic[k].leader == body[e->leader].iv &&
                mimic_f[k].follower == mimic[k].follower && mimic_f[k].leader == mimic[k].leader &&
                map_q[body[i].iq].user == lead->user_q && map_v[body[i].iv].user == lead->user_v;
            ++k;
        } else {
            for (int c = 0; c < nq; ++c)
                fits = fits && map_q[body[i].iq + c].user == e->user_q + c;
            for (int c = 0; c < nv; ++c)
                fits = fits && map_v[body[i].iv + c].user == e->user_v + c;
        }
        if (!fits) BAD(SOA_E_FORMAT, "body %d: the map of its coordinates is damaged", i);
    }
    for (int k = m->nm, i = 1; k < m->nm + m->held; ++k, ++i) { /* leaders, in ascending order */
        while (i <= m->nb && body[i].iv != mimic[k].leader)
            ++i;
        if (i > m->nb || body[i].nv != 1 || meta[i].leader >= 0 ||
            mimic[k].follower != mimic[k].leader || mimic_f[k].follower != mimic[k].leader ||
            mimic_f[k].leader != mimic[k].leader)
            BAD(SOA_E_FORMAT, "row %d of its leaders is damaged", (int)(k - m->nm));
    }
    for (int k = 0; k < m->nm + m->held; ++k) {
        const double ratio = mimic[k].ratio, hold = mimic[k].hold;
        if (!isfinite(ratio) || !isfinite(hold) ||
            (k < m->nm ? hold != 0 : !(hold > 0) || ratio != 0) ||
            mimic_f[k].ratio != (float)ratio || mimic_f[k].hold != (float)hold)
            BAD(SOA_E_FORMAT, "row %d of its mimic joints is damaged", k);
    }
    for (int i = 0; i < m->frames; ++i)
        if (!TEXT_FITS(frame[i].text) || frame[i].body < 0 || frame[i].body > m->nb)
            BAD(SOA_E_FORMAT, "frame %d is damaged", i);
    for (int i = 1; i <= m->nb; ++i) {
        const double *numbers = (const double *)(const void *)((const char *)(body + i) +
                                                               offsetof(soai_body_double, R0));
        if (!soai_all_finite(numbers,
                             (sizeof *body - offsetof(soai_body_double, R0)) / sizeof(double)))
            BAD(SOA_E_FORMAT, "body %d: a constant is not finite", i);
        double packs[24];
        soai_inertia_packs(body[i].M, packs);
        if (memcmp(packs, body[i].P, sizeof packs))
            BAD(SOA_E_FORMAT, "body %d: its two inertias differ", i);
    }
    if (m->tv && !soai_all_finite((const double *)SOAI_AT(m, soai_dof_double, dof_d),
                                  (size_t)m->tv * sizeof(soai_dof_double) / sizeof(double)))
        BAD(SOA_E_FORMAT, "a joint's constant is not finite");
    return SOA_OK;
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
