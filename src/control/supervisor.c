/* supervisor.c  phases, transitions on measured conditions, bumpless switching, and the diagram.
 *
 * A condition of the current phase keeps for how long it has held; a transition is taken when all
 * its conditions have held long enough.  Bumpless: at a change the jump of the torques is kept and
 * faded out by a quintic, so the torque is continuous, with its rate. */
#include "../base/base_internal.h"
#include "soa/control.h"
#include <math.h>
#include <stdio.h>

/* --- checks ----------------------------------------------------------------------------------- */
soa_status soa_supervisor_check(const soa_supervisor *s, soa_report *report) {
    soai_report_reset(report);
    if (!s || s->phase_count < 1 || !s->phases || s->signal_count < 0)
        return soai_report(report, SOA_E_ARGUMENT, -1, 0, "a supervisor needs at least one phase");
    for (int p = 0; p < s->phase_count; ++p) {
        const soa_supervisor_phase *f = s->phases + p;
        const char *name = f->name ? f->name : "?";
        int conditions = 0;
        if (!f->name || !f->name[0])
            return soai_report(report, SOA_E_NAME, -1, 0, "phase %d has no name", p);
        for (int o = 0; o < p; ++o)
            if (!strcmp(s->phases[o].name, name))
                return soai_report(report, SOA_E_NAME, -1, 0, "two phases are named \"%s\"", name);
        if (!(f->blend >= 0) || !soai_all_finite(&f->blend, 1))
            return soai_report(report, SOA_E_ARGUMENT, -1, 0,
                               "phase \"%s\": blend is %g s, not >= 0", name, f->blend);
        if (f->transition_count < 0 || (f->transition_count && !f->transitions))
            return soai_report(report, SOA_E_ARGUMENT, -1, 0,
                               "phase \"%s\": its transitions are missing", name);
        for (int t = 0; t < f->transition_count; ++t) {
            const soa_supervisor_transition *x = f->transitions + t;
            if (x->to < 0 || x->to >= s->phase_count)
                return soai_report(report, SOA_E_ARGUMENT, -1, 0,
                                   "phase \"%s\": transition %d leads to phase %d of %d", name, t,
                                   x->to, s->phase_count);
            if (x->condition_count < 0 || (x->condition_count && !x->conditions))
                return soai_report(report, SOA_E_ARGUMENT, -1, 0,
                                   "phase \"%s\": conditions of transition %d missing", name, t);
            conditions += x->condition_count;
            if (conditions > SOA_PHASE_CONDITIONS)
                return soai_report(report, SOA_E_ARGUMENT, -1, 0,
                                   "phase \"%s\" has more than %d conditions", name,
                                   SOA_PHASE_CONDITIONS);
            for (int i = 0; i < x->condition_count; ++i) {
                const soa_supervisor_condition *c = x->conditions + i;
                if (c->signal < SOA_SIGNAL_PHASE_TIME || c->signal >= s->signal_count)
                    return soai_report(report, SOA_E_ARGUMENT, -1, 0,
                                       "phase \"%s\": signal %d of %d", name, c->signal,
                                       s->signal_count);
                if (!soai_all_finite(&c->value, 1) || !soai_all_finite(&c->hold, 1) ||
                    !(c->hold >= 0))
                    return soai_report(report, SOA_E_ARGUMENT, -1, 0,
                                       "phase \"%s\": a condition with value %g, hold %g", name,
                                       c->value, c->hold);
            }
        }
    }
    return SOA_OK;
}

/* --- running ---------------------------------------------------------------------------------- */
static void forget(soa_supervisor_state *x) {
    for (int i = 0; i < SOA_PHASE_CONDITIONS; ++i)
        x->held[i] = -1;
}
soa_status soa_supervisor_start(const soa_supervisor *s, soa_supervisor_state *x) {
    if (!x) return SOA_E_ARGUMENT;
    const soa_status bad = soa_supervisor_check(s, NULL);
    if (bad) return bad;
    memset(x, 0, sizeof *x);
    x->before = x->transition = -1;
    forget(x);
    return SOA_OK;
}
soa_status soa_supervisor_tick(const soa_supervisor *s, soa_supervisor_state *x,
                               const double *signals, double dt, bool *changed) {
    if (!s || !x || (s->signal_count && !signals) || x->phase < 0 || x->phase >= s->phase_count ||
        !(dt >= 0) || !soai_all_finite(&dt, 1))
        return SOA_E_ARGUMENT;
    const soa_supervisor_phase *f = s->phases + x->phase;
    int taken = -1, n = 0;
    x->time += dt;
    x->blend_time += dt;
    for (int t = 0; t < f->transition_count; ++t) {
        const soa_supervisor_transition *way = f->transitions + t;
        int all = 1;
        for (int i = 0; i < way->condition_count && n < SOA_PHASE_CONDITIONS; ++i, ++n) {
            const soa_supervisor_condition *c = way->conditions + i;
            const double y = c->signal == SOA_SIGNAL_PHASE_TIME ? x->time : signals[c->signal];
            const int holds = c->above ? y > c->value : y < c->value;
            if (!holds) {
                x->held[n] = -1;
            } else if (x->held[n] < 0) {
                x->held[n] = 0;
            } else {
                x->held[n] = x->held[n] + dt;
            }
            /* half a sample's rounding may be missing after many */
            all &= holds && x->held[n] >= c->hold * (1 - 1e-9);
        }
        if (all && taken < 0) taken = t;
    }
    if (taken >= 0) {
        x->before = x->phase;
        x->transition = taken;
        ++x->changes;
        x->phase = f->transitions[taken].to;
        x->time = x->blend_time = 0;
        forget(x);
    }
    if (changed) *changed = taken >= 0;
    return SOA_OK;
}
soa_status soa_supervisor_blend(const soa_supervisor *s, const soa_supervisor_state *x,
                                bool changed, int n, const double *last, double *offset,
                                double *tau) {
    if (!s || !x || x->phase < 0 || x->phase >= s->phase_count || n < 0 || !offset || !tau ||
        (changed && !last))
        return SOA_E_ARGUMENT;
    const double blend = s->phases[x->phase].blend;
    double rest[3];
    const soa_profile fade = soa_profile_quintic(blend);
    if (changed && !(soai_all_finite(last, (size_t)n) && soai_all_finite(tau, (size_t)n)))
        return SOA_E_NOT_FINITE;
    soa_profile_at(&fade, x->blend_time, rest);
    for (int j = 0; j < n; ++j) {
        if (changed) offset[j] = blend > 0 ? last[j] - tau[j] : 0;
        if (x->changes) tau[j] += (1 - rest[0]) * offset[j];
    }
    return SOA_OK;
}

/* --- diagram ---------------------------------------------------------------------------------- */
/* Text that may not fit: what fits is written, all is counted. */
typedef struct text {
    char *at;
    size_t room, length;
} text;
static void put(text *o, const char *s) {
    for (; *s; ++s, ++o->length)
        if (o->length + 1 < o->room) o->at[o->length] = *s;
}
/* A name inside a quoted string. */
static void put_quoted(text *o, const char *s) {
    char two[3] = "\\x";
    for (; *s; ++s) {
        two[1] = *s;
        if (*s == '"' || *s == '\\') {
            put(o, two);
        } else {
            put(o, (const char[2]){(unsigned char)*s < ' ' ? ' ' : *s, 0});
        }
    }
}
static void put_number(text *o, double x) {
    char digits[32];
    snprintf(digits, sizeof digits, "%g", x);
    put(o, digits);
}
static void put_condition(text *o, const soa_supervisor *s, const soa_supervisor_condition *c) {
    if (c->signal == SOA_SIGNAL_PHASE_TIME) {
        put(o, "phase_time");
    } else if (s->signal_names && s->signal_names[c->signal]) {
        put_quoted(o, s->signal_names[c->signal]);
    } else {
        put(o, "signal ");
        put_number(o, c->signal);
    }
    put(o, c->above ? " > " : " < ");
    put_number(o, c->value);
    if (c->hold > 0) {
        put(o, " for ");
        put_number(o, c->hold);
        put(o, " s");
    }
}
static void write_diagram(const soa_supervisor *s, text *o) {
    put(o, "digraph supervisor {\n  rankdir=TB;\n  node [shape=box, style=rounded];\n  start "
           "[shape=point];\n");
    for (int p = 0; p < s->phase_count; ++p) {
        put(o, "  p");
        put_number(o, p);
        put(o, " [label=\"");
        put_quoted(o, s->phases[p].name);
        if (s->phases[p].blend > 0) {
            put(o, "\\nblend ");
            put_number(o, s->phases[p].blend);
            put(o, " s");
        }
        put(o, "\"];\n");
    }
    put(o, "  start -> p0;\n");
    for (int p = 0; p < s->phase_count; ++p)
        for (int t = 0; t < s->phases[p].transition_count; ++t) {
            const soa_supervisor_transition *x = s->phases[p].transitions + t;
            put(o, "  p");
            put_number(o, p);
            put(o, " -> p");
            put_number(o, x->to);
            put(o, " [label=\"");
            if (s->phases[p].transition_count > 1) {
                put_number(o, t + 1);
                put(o, ": ");
            }
            for (int i = 0; i < x->condition_count; ++i) {
                if (i) put(o, "\\nand ");
                put_condition(o, s, x->conditions + i);
            }
            if (!x->condition_count) put(o, "at once");
            put(o, "\"];\n");
        }
    put(o, "}\n");
}
soa_status soa_supervisor_diagram(const soa_supervisor *s, char *out, size_t size, size_t *length) {
    const soa_status bad = soa_supervisor_check(s, NULL);
    if (bad) return bad;
    if (!out && size) return SOA_E_ARGUMENT;
    text count = {NULL, 0, 0};
    write_diagram(s, &count);
    if (length) *length = count.length + 1;
    if (!out) return SOA_OK;
    if (size < count.length + 1) return SOA_E_MEMORY;
    text o = {out, size, 0};
    write_diagram(s, &o);
    out[o.length] = 0;
    return SOA_OK;
}
