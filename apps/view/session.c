/* session.c  a live run in its own thread, or a record that is played back.
 *
 * run      soa_world_run writes the record. Its progress function is called between ticks. There
 *          the run waits while it is paused or ahead of its clock, and commands are executed. A
 *          run without commands leaves the same bytes as `soa sim`.
 * clock    A tick is due at  anchor + (t - t_anchor) / speed  of real time. A run that cannot
 *          keep up gets a new anchor; it does not try to catch up.
 * news     After every tick the state is copied under the lock (some hundred numbers); the server
 *          makes frames of the copy.
 * hands    While the run is paused, a joint is moved by soa_world_set_state; while it runs, a
 *          spring pulls it. Springs are as stiff as the mass they move allows: k = m w^2, c = 2 m
 *          w, with the effective mass at that point, 3 / trace(J M^-1 J'), from soa_aba. */
#include "session.h"

#include "replay.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum {
    QUEUE = 256,
    CONTACTS = 512,
    HOLDS = SOA_WORLD_PULLS,
    NAME_SHOWN = 150, /* characters of a record's name in a message */
    /* Largest number of NAME.soalog, NAME-2.soalog, ... from resets of one run. */
    RECORDS_MOST = 1000
};
/* s of real time that the run may be ahead: it moves in short bursts. */
static const double ahead_most = 0.004;
/* s behind: then the clock is restarted. */
static const double behind_most = 0.25;
/* s between flushes of the record, so that others can read it. */
static const double flush_period = 0.03;
static const double factor_period = 0.25; /* s over which the factor is measured */
/* s between two summaries of a run in progress. */
static const double summary_period = 1;
static const double pull_rate = 20, hold_rate = 20; /* rad/s: frequencies of the springs */

struct view_session {
    view_session_options how;
    soa_scenario scenario; /* scenario of the run */
    view_replay replay;    /* playback of a log */
    soa_world *world;      /* used by the run's thread once it has begun */
    view_scene *scene;
    soa_log *log;
    int has_lock, has_thread;
    int nq, nv, bodies;

    /* shared, under the lock */
    pthread_mutex_t lock;
    pthread_cond_t news;
    pthread_t thread;
    view_message queue[QUEUE];
    int queued, quit, held; /* held: no viewer, the run waits */
    view_session_state state;
    uint64_t serial; /* number of the values that follow */
    double t;
    double *q, *v;
    soa_world_contact contacts[CONTACTS];
    int contact_count;
    const char *phase;
    /* Taken over by the server at its next view_session_look. */
    soa_log *new_log;
    soa_world_summary summary;
    int summary_over;        /* the summary is that of the end */
    uint64_t summary_serial; /* number of the two above */

    /* used by the server */
    double *q_seen, *v_seen;
    soa_world_contact contacts_seen[CONTACTS];
    view_contact shown[CONTACTS];
    uint64_t summary_seen, summaries;
    int told_damage;

    /* used by the run */
    soa_journal *journal;
    /* Path of a named record: that of the options first, then NAME-2, NAME-3, ... */
    char *record_path;
    int untouched; /* the record contains only the beginning */
    int said_full;
    soa_journal_state closed; /* how the record ended */
    int is_closed;
    void *start; /* state at the beginning */
    soa_world_event *start_events;
    int start_event_count;
    double *values, *q_new, *v_new, *torque, *response;
    soa_work *work;
    /* dirty: ticks since the record was flushed. */
    int playing, ended, reset, steps, record, leaving, dirty;
    uint64_t tick;
    int unsummed; /* something has changed since the last summary */
    double speed, anchor, t_anchor, flushed, summed, factor_at, factor_t;
    int said_over;
    int moved; /* moved by hand, and not yet recorded */
    char noted[160];
    double noted_at;
    soa_world_pull pull;
    int pulling, hold_count;
    soa_world_hold holds[HOLDS];
};

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}
static soa_status fail(soa_report *report, soa_status status, const char *text) {
    *report = (soa_report){.status = status, .body = -1};
    snprintf(report->text, sizeof report->text, "%s", text);
    return status;
}
static void wake(const view_session *s) {
    if (s->how.wake) s->how.wake(s->how.wake_user);
}

/* --- the record ------------------------------------------------------------------------------- */
/* Prints into new memory; NULL if there is none. A path is never truncated. */
static char *text_of(const char *format, ...) __attribute__((format(printf, 1, 2)));
static char *text_of(const char *format, ...) {
    va_list list;
    va_start(list, format);
    const int length = vsnprintf(NULL, 0, format, list);
    va_end(list);
    char *text = length >= 0 ? malloc((size_t)length + 1) : NULL;
    if (!text) return NULL;
    va_start(list, format);
    vsnprintf(text, (size_t)length + 1, format, list);
    va_end(list);
    return text;
}
/* Gives the new journal its name and opens it for reading. */
static soa_status named_log(view_session *s, const char *path, soa_log **log, soa_report *report) {
    if (soa_journal_flush(s->journal))
        return fail(report, SOA_E_FILE, "the record cannot be written");
    return soa_log_open(path, log, report);
}
/* Opens a journal in a new folder. Both names are removed as soon as the files are open, so they
 * disappear when the last user closes them. */
static soa_status open_unnamed(view_session *s, soa_log **log, soa_report *report) {
    const char *temporary = getenv("TMPDIR");
    char *folder = text_of("%s/soa-view-XXXXXX", temporary && *temporary ? temporary : "/tmp");
    char *path = NULL;
    soa_status status = SOA_E_MEMORY;
    if (folder && !mkdtemp(folder)) {
        char text[256];
        snprintf(text, sizeof text, "%.140s: no place for the record: %.80s", folder,
                 strerror(errno));
        status = fail(report, SOA_E_FILE, text);
    } else if (folder) {
        path = text_of("%s/run.soalog", folder);
        if (path) status = soa_world_create_journal(s->world, path, &s->journal, report);
        if (!status) status = named_log(s, path, log, report);
        if (s->journal) soa_journal_unlink(s->journal);
        rmdir(folder);
    }
    free(path);
    free(folder);
    return status;
}
/* Opens a journal and a reader of it. */
static soa_status open_record(view_session *s, soa_log **log, soa_report *report) {
    s->untouched = 1;
    s->said_full = 0;
    if (!s->how.record) return open_unnamed(s, log, report);
    if (!s->record_path) s->record_path = text_of("%s", s->how.record);
    if (!s->record_path) return SOA_E_MEMORY;
    const soa_status status =
        soa_world_create_journal(s->world, s->record_path, &s->journal, report);
    return status ? status : named_log(s, s->record_path, log, report);
}
/* Name of the record after a reset, NAME-2.soalog for NAME.soalog: the first number that is not in
 * use. NULL on failure, with the reason in `why`. */
static char *next_record(const view_session *s, char why[200]) {
    static const char end[] = ".soalog";
    const char *name = s->how.record;
    const size_t length = strlen(name);
    const size_t tail = length > sizeof end - 1 && !strcmp(name + length - (sizeof end - 1), end)
                            ? sizeof end - 1
                            : 0;
    for (int number = 2; number <= RECORDS_MOST; ++number) {
        struct stat about;
        char *path = text_of("%.*s-%d%s", (int)(length - tail), name, number, name + length - tail);
        if (!path) {
            snprintf(why, 200, "there is no memory for another record: the run was not reset");
            return NULL;
        }
        if (lstat(path, &about) && errno == ENOENT) return path;
        free(path);
    }
    snprintf(why, 200,
             "%.80s has %d records already; the run was not reset, remove some or end the program",
             name, RECORDS_MOST);
    return NULL;
}
/* True if an unnamed record has reached its limit. Then the run is paused, and the page says what
 * to do. */
static int is_full(view_session *s) {
    soa_journal_state state;
    if (s->how.record || !s->journal) return 0;
    soa_journal_get_state(s->journal, &state);
    return (double)state.bytes >= s->how.room;
}
/* Closes the record: as complete, or so that it can be resumed. */
static void close_record(view_session *s, int complete) {
    soa_report report = {.body = -1};
    if (s->is_closed || !s->journal) return;
    soa_status status = complete ? soa_journal_close(s->journal, &report)
                                 : soa_journal_abandon(s->journal, &report);
    s->journal = NULL;
    s->is_closed = 1;
    s->closed.status = status;
    snprintf(s->closed.text, sizeof s->closed.text, "%.250s", report.text);
}

/* --- values for the server -------------------------------------------------------------------- */
static void publish(view_session *s) {
    const double wall = now();
    pthread_mutex_lock(&s->lock);
    memcpy(s->q, soa_world_q(s->world), (size_t)s->nq * sizeof *s->q);
    memcpy(s->v, soa_world_v(s->world), (size_t)s->nv * sizeof *s->v);
    const int touching = soa_world_contacts(s->world, s->contacts, CONTACTS);
    s->contact_count = touching < CONTACTS ? touching : CONTACTS;
    s->t = soa_world_time(s->world);
    s->phase = soa_world_phase(s->world);
    ++s->serial;
    s->state.t = s->t;
    s->state.playing = s->playing;
    s->state.ended = s->ended;
    s->state.speed = s->speed;
    s->state.record = s->record;
    s->state.tick = s->tick;
    if (wall - s->factor_at >= factor_period) {
        s->state.factor = s->playing ? (s->t - s->factor_t) / (wall - s->factor_at) : 0;
        s->factor_at = wall;
        s->factor_t = s->t;
    }
    pthread_mutex_unlock(&s->lock);
}
static void say(view_session *s, const char *text) {
    pthread_mutex_lock(&s->lock);
    snprintf(s->state.error, sizeof s->state.error, "%s", text);
    ++s->state.errors;
    pthread_mutex_unlock(&s->lock);
}
static void flush_record(view_session *s) {
    if (s->journal) soa_journal_flush(s->journal);
    s->flushed = now();
    s->dirty = 0;
}

/* Makes the summary that `soa sim` would print of the run so far. Costs about one evaluation of the
 * forces. */
static void sum_up(view_session *s) {
    soa_world_summary summary;
    s->summed = now();
    s->unsummed = 0;
    if (soa_world_summarise(s->world, &summary)) return;
    pthread_mutex_lock(&s->lock);
    s->summary = summary;
    s->summary_over = s->ended;
    ++s->summary_serial;
    pthread_mutex_unlock(&s->lock);
}

/* Pauses a run whose unnamed record is full. */
static void stop_full(view_session *s) {
    char text[200];
    s->playing = 0;
    s->steps = 0;
    if (s->said_full) return;
    s->said_full = 1;
    snprintf(text, sizeof text,
             "paused: the record has reached %.0f MB; reset begins it anew, --history allows more, "
             "--record keeps it",
             s->how.room / 1e6);
    say(s, text);
}

/* --- commands --------------------------------------------------------------------------------- */
static void start_clock(view_session *s) {
    s->anchor = s->factor_at = now();
    s->t_anchor = s->factor_t = soa_world_time(s->world);
}

/* Accelerations that a wrench on a body, or torques, add to those of gravity alone. */
static int respond(view_session *s, const double *torque, const soa_wrench *wrench, double *out) {
    const soa_model *model = soa_world_model(s->world);
    const double *q = soa_world_q(s->world);
    memset(s->v_new, 0, (size_t)s->nv * sizeof *s->v_new);
    if (soa_aba(model, s->work, q, s->v_new, torque, wrench, wrench ? 1 : 0, out)) return -1;
    memset(s->torque, 0, (size_t)s->nv * sizeof *s->torque);
    /* q_new has nq >= nv numbers. */
    if (soa_aba(model, s->work, q, s->v_new, s->torque, NULL, 0, s->q_new)) return -1;
    for (int i = 0; i < s->nv; ++i)
        out[i] -= s->q_new[i];
    return 0;
}
/* Effective mass at a point of a body, mean of three directions; 0: not found. */
static double mass_at(view_session *s, int body, const double at[3]) {
    const soa_model *model = soa_world_model(s->world);
    soa_body_info info;
    soa_frame pose;
    double arm[3], ease = 0;
    if (soa_model_body(model, body, &info) ||
        soa_kinematics(model, s->work, soa_world_q(s->world), NULL, NULL) ||
        soa_pose(model, s->work, info.frame, &pose))
        return 0;
    for (int k = 0; k < 3; ++k)
        arm[k] = pose.R[3 * k] * at[0] + pose.R[3 * k + 1] * at[1] + pose.R[3 * k + 2] * at[2];
    for (int k = 0; k < 3; ++k) {
        soa_wrench w = {.frame = info.frame, .axes = SOA_AXES_WORLD};
        double f[3] = {0}, V[6];
        f[k] = 1;
        for (int j = 0; j < 3; ++j) {
            w.value[j] = arm[(j + 1) % 3] * f[(j + 2) % 3] - arm[(j + 2) % 3] * f[(j + 1) % 3];
            w.value[3 + j] = f[j];
        }
        memset(s->torque, 0, (size_t)s->nv * sizeof *s->torque);
        /* J times it. */
        if (respond(s, s->torque, &w, s->response) ||
            soa_kinematics(model, s->work, soa_world_q(s->world), s->response, NULL) ||
            soa_velocity(model, s->work, info.frame, SOA_AXES_WORLD, V))
            return 0;
        ease += V[3 + k] + V[(k + 1) % 3] * arm[(k + 2) % 3] - V[(k + 2) % 3] * arm[(k + 1) % 3];
    }
    return ease > 0 && isfinite(ease) ? 3 / ease : 0;
}
static double inertia_of(view_session *s, int v) {
    memset(s->torque, 0, (size_t)s->nv * sizeof *s->torque);
    s->torque[v] = 1;
    if (respond(s, s->torque, NULL, s->response)) return 0;
    return s->response[v] > 0 && isfinite(s->response[v]) ? 1 / s->response[v] : 0;
}

static void set_pulls(view_session *s) {
    const soa_status status =
        soa_world_set_pulls(s->world, &s->pull, s->pulling, s->holds, s->hold_count);
    if (status) say(s, soa_status_text(status));
}
/* Records an event, once: repeated moves at the same instant are not recorded again. */
static void note(view_session *s, const char *text) {
    const double t = soa_world_time(s->world);
    if (t == s->noted_at && !strcmp(text, s->noted)) return;
    s->untouched = 0;
    if (s->journal) soa_journal_write_event(s->journal, t, "hand", text);
    snprintf(s->noted, sizeof s->noted, "%s", text);
    s->noted_at = t;
}

static void pull(view_session *s, const view_message *m) {
    const int same =
        s->pulling && s->pull.body == m->body && !memcmp(s->pull.at, m->at, sizeof m->at);
    soa_body_info info;
    if (soa_model_body(soa_world_model(s->world), m->body, &info)) return;
    if (!same) {
        const double mass = mass_at(s, m->body, m->at);
        if (!(mass > 0)) {
            say(s, "this body cannot be pulled");
            return;
        }
        char text[160];
        snprintf(text, sizeof text, "%.140s pulled", info.link);
        note(s, text);
        s->pull = (soa_world_pull){.body = m->body};
        s->pull.stiffness = mass * pull_rate * pull_rate;
        s->pull.damping = 2 * mass * pull_rate;
        s->pull.most = 200 * mass;
        memcpy(s->pull.at, m->at, sizeof m->at);
        s->pulling = 1;
    }
    memcpy(s->pull.to, m->to, sizeof m->to);
    set_pulls(s);
}

static int joint_of(const view_session *s, int q, soa_body_info *info) {
    for (int b = 1; b <= s->bodies; ++b)
        if (!soa_model_body(soa_world_model(s->world), b, info) && info->q_index == q &&
            info->nq == 1 && info->nv == 1)
            return 0;
    return -1;
}
static void release_joint(view_session *s, int v) {
    for (int i = 0; i < s->hold_count; ++i)
        if (s->holds[i].v == v) {
            s->holds[i] = s->holds[--s->hold_count];
            set_pulls(s);
            return;
        }
}
static void draw_joint(view_session *s, const view_message *m) {
    soa_body_info info;
    if (joint_of(s, m->q, &info)) return;
    if (!m->has_value) {
        release_joint(s, info.v_index);
        return;
    }
    const double value = fmin(fmax(m->value, info.lower), info.upper);
    char text[160];
    snprintf(text, sizeof text, "%.140s moved", info.joint);
    if (!s->playing && !s->steps) {
        soa_report report;
        memcpy(s->q_new, soa_world_q(s->world), (size_t)s->nq * sizeof *s->q_new);
        memcpy(s->v_new, soa_world_v(s->world), (size_t)s->nv * sizeof *s->v_new);
        s->q_new[info.q_index] = value;
        s->v_new[info.v_index] = 0;
        release_joint(s, info.v_index);
        if (soa_world_set_state(s->world, s->q_new, s->v_new, &report)) {
            say(s, report.text);
        } else {
            s->moved = 1;
            note(s, text);
        }
        return;
    }
    int i = 0;
    while (i < s->hold_count && s->holds[i].v != info.v_index)
        ++i;
    if (i == HOLDS) {
        say(s, "too many joints are held at once");
        return;
    }
    if (i == s->hold_count) {
        const double inertia = inertia_of(s, info.v_index);
        if (!(inertia > 0)) {
            say(s, "this joint cannot be moved");
            return;
        }
        s->holds[i] = (soa_world_hold){.v = info.v_index};
        s->holds[i].stiffness = inertia * hold_rate * hold_rate;
        s->holds[i].damping = 2 * inertia * hold_rate;
        ++s->hold_count;
        note(s, text);
    }
    s->holds[i].to = value;
    set_pulls(s);
}

/* A named record is kept; after the reset the run has another one. If that is not possible, there
 * is no reset. */
static void want_reset(view_session *s) {
    char text[256];
    /* Nothing to keep: do not make a new file for each reset. */
    if (s->how.record && s->untouched && s->journal) {
        s->playing = 0;
        s->steps = 0;
        return;
    }
    if (s->how.record) {
        char *next = next_record(s, text);
        if (!next) {
            say(s, text);
            return;
        }
        free(s->record_path);
        s->record_path = next;
        const size_t length = strlen(next);
        snprintf(text, sizeof text, "the record so far is kept; from here it is %s%s",
                 length > NAME_SHOWN ? "..." : "",
                 length > NAME_SHOWN ? next + length - NAME_SHOWN : next);
        say(s, text);
    }
    s->reset = 1;
}

static void carry_out(view_session *s, const view_message *m) {
    static const char over[] = "the run has ended; reset begins it anew";
    if (s->ended && m->what != VIEW_RESET && m->what != VIEW_SPEED && m->what != VIEW_PAUSE &&
        m->what != VIEW_RELEASE && (m->what != VIEW_JOINT || m->has_value)) {
        if (m->what == VIEW_PLAY || m->what == VIEW_STEP || !s->said_over) say(s, over);
        s->said_over = 1; /* say it only once to a hand that continues */
        return;
    }
    s->said_over = 0;
    const int lets_go = m->what == VIEW_RELEASE || (m->what == VIEW_JOINT && !m->has_value);
    if (!lets_go && m->what != VIEW_RESET && m->what != VIEW_SPEED && m->what != VIEW_PAUSE &&
        is_full(s)) {
        if (m->what == VIEW_PLAY || m->what == VIEW_STEP) s->said_full = 0;
        stop_full(s);
        return;
    }
    switch (m->what) {
    case VIEW_PLAY:
        if (!s->playing) start_clock(s);
        s->playing = 1;
        s->steps = 0;
        break;
    case VIEW_PAUSE:
        s->playing = 0;
        s->steps = 0;
        break;
    case VIEW_STEP:
        s->playing = 0;
        s->steps = s->steps < 1000000 ? s->steps + m->count : s->steps;
        break;
    case VIEW_SPEED:
        s->speed = m->value;
        start_clock(s);
        break;
    case VIEW_RESET: want_reset(s); break;
    case VIEW_JOINT: draw_joint(s, m); break;
    case VIEW_PULL: pull(s, m); break;
    case VIEW_RELEASE:
        s->pulling = 0;
        set_pulls(s);
        break;
    default: break;
    }
}

/* --- the run ---------------------------------------------------------------------------------- */
/* Called between two ticks, with the lock: executes queued commands. Returns nonzero if there were
 * any. */
static int take_commands(view_session *s) {
    int any = 0;
    while (s->queued && !s->quit && !s->reset) {
        const view_message m = s->queue[0];
        memmove(s->queue, s->queue + 1, (size_t)--s->queued * sizeof *s->queue);
        pthread_mutex_unlock(&s->lock);
        carry_out(s, &m);
        pthread_mutex_lock(&s->lock);
        any = 1;
        ++s->state.done;
    }
    return any;
}
static void sleep_until(view_session *s, double when) {
    struct timespec t;
    t.tv_sec = (time_t)floor(when);
    t.tv_nsec = (long)(1e9 * (when - floor(when)));
    pthread_cond_timedwait(&s->news, &s->lock, &t);
}

/* Records a second sample for this instant: after the jump. */
static void record_move(view_session *s) {
    const double t = soa_world_time(s->world);
    s->moved = 0;
    if (t > 0 && s->journal && !soa_world_signal_values(s->world, s->values))
        soa_journal_write_sample(s->journal, t, s->values);
}

/* Waits until the next tick is due. Nonzero: the run ends here. */
static int hold(view_session *s) {
    int was_held = 0;
    for (;;) {
        pthread_mutex_lock(&s->lock);
        const int any = take_commands(s);
        const int held = s->held && !s->ended;
        s->leaving = s->quit;
        pthread_mutex_unlock(&s->lock);
        if (any) publish(s);
        if (s->leaving || s->reset) return 1;
        if ((s->playing || s->steps) && !s->ended && is_full(s)) {
            stop_full(s);
            publish(s);
            wake(s);
        }
        if (held) was_held = 1;
        if (!held && was_held) {
            was_held = 0;
            /* Do not catch up on the time without viewers. */
            start_clock(s);
        }
        const double wall = now();
        const double due =
            s->speed > 0 ? s->anchor + (soa_world_time(s->world) - s->t_anchor) / s->speed : 0;
        const int waits =
            s->ended || held || (s->steps == 0 && (!s->playing || due > wall + ahead_most));
        const int rests = waits && (held || !s->playing);
        if ((s->dirty && (rests || wall - s->flushed > flush_period)) || any) flush_record(s);
        s->unsummed |= any;
        if (s->unsummed && (rests || wall - s->summed > summary_period)) sum_up(s);
        if (any) wake(s);
        if (!waits) {
            if (s->moved) record_move(s);
            if (s->steps)
                --s->steps;
            else if (s->speed > 0 && wall - due > behind_most)
                start_clock(s);
            return 0;
        }
        pthread_mutex_lock(&s->lock);
        if (!s->queued && !s->quit && held == (s->held && !s->ended)) {
            if (s->playing && !s->ended && !held)
                sleep_until(s, due);
            else
                pthread_cond_wait(&s->news, &s->lock);
        }
        pthread_mutex_unlock(&s->lock);
    }
}
static bool after_tick(void *user, soa_world *world) {
    view_session *s = user;
    ++s->tick;
    s->dirty = s->unsummed = 1;
    s->untouched = 0;
    publish(s);
    const double end = s->how.until > 0 ? s->how.until : s->scenario.duration;
    const int is_last = soa_world_time(world) + 0.999 * soa_world_tick_length(world) > end;
    /* At the end do not wait for `play`. */
    return is_last ? 0 : hold(s);
}

/* Returns to the beginning, with another record. */
static void begin_anew(view_session *s) {
    soa_report report = {.body = -1};
    soa_log *log = NULL;
    close_record(s, 0);
    s->reset = 0;
    s->playing = 0;
    s->steps = 0;
    s->ended = s->pulling = s->hold_count = s->moved = 0;
    s->noted_at = -1;
    soa_world_set_pulls(s->world, NULL, 0, NULL, 0);
    soa_status status = soa_world_restore_state(s->world, s->start, soa_world_state_size(s->world));
    if (status) say(s, soa_status_text(status));
    s->is_closed = 0;
    s->closed = (soa_journal_state){0};
    if (!status) status = open_record(s, &log, &report);
    if (status && report.text[0]) say(s, report.text);
    for (int i = 0; !status && i < s->start_event_count; ++i)
        soa_journal_write_event(s->journal, s->start_events[i].t, s->start_events[i].kind,
                                s->start_events[i].text);
    ++s->record;
    if (status) s->ended = 1;
    s->unsummed = 1;
    pthread_mutex_lock(&s->lock);
    soa_log_close(s->new_log);
    s->new_log = log;
    pthread_mutex_unlock(&s->lock);
    publish(s);
    wake(s);
}

static void *simulate(void *user) {
    view_session *s = user;
    for (;;) {
        soa_report report = {.body = -1};
        soa_status status = SOA_OK;
        if (!hold(s)) {
            const soa_run_options how = {.until = s->how.until, .progress = after_tick, .user = s};
            status = soa_world_run(s->world, s->journal, &how, &report);
            if (status) say(s, report.text[0] ? report.text : soa_status_text(status));
            if (!s->reset && !s->leaving) {
                s->ended = s->unsummed = 1;
                s->playing = s->steps = 0;
                close_record(s, !status);
                publish(s);
                wake(s);
                hold(s);
            }
        }
        if (s->leaving) break;
        if (s->reset) begin_anew(s);
    }
    close_record(s, 0);
    return NULL;
}

/* --- opening and closing ---------------------------------------------------------------------- */
static soa_status open_memory(view_session *s) {
    const size_t nq = (size_t)s->nq + 1, nv = (size_t)s->nv + 1;
    double **const lists[] = {&s->q,      &s->q_seen, &s->q_new,  &s->v,
                              &s->v_seen, &s->v_new,  &s->torque, &s->response};
    for (size_t k = 0; k < sizeof lists / sizeof *lists; ++k)
        if (!(*lists[k] = calloc(nq > nv ? nq : nv, sizeof(double)))) return SOA_E_MEMORY;
    int count;
    const soa_world_event *events = soa_world_events(s->world, &count);
    s->start = malloc(soa_world_state_size(s->world));
    s->start_events = malloc(((size_t)count + 1) * sizeof *events);
    s->values = malloc(((size_t)soa_world_signal_count(s->world) + 1) * sizeof *s->values);
    if (!s->start || !s->start_events || !s->values) return SOA_E_MEMORY;
    s->noted_at = -1;
    soa_world_save_state(s->world, s->start);
    memcpy(s->start_events, events, (size_t)count * sizeof *events);
    s->start_event_count = count;
    return soa_work_create(soa_world_model(s->world), &s->work);
}

static soa_status open_live(view_session *s, soa_report *report) {
    /* The caller's memory; only numbers are changed here. */
    s->scenario = *s->how.scenario;
    if (!s->how.record) s->scenario.recording.checkpoint = 0;
    soa_status status = soa_world_create(&s->scenario, &s->world, report);
    if (status) return status;
    const soa_model *model = soa_world_model(s->world);
    s->nq = soa_model_nq(model);
    s->nv = soa_model_nv(model);
    s->bodies = soa_model_body_count(model);
    if (!(status = open_memory(s))) status = open_record(s, &s->log, report);
    const view_source source = {.kind = s->how.kind,
                                .live = 1,
                                .scenario = &s->scenario,
                                .world = s->world,
                                .spec = s->how.spec,
                                .log = s->log,
                                .title = s->how.title};
    if (!status) status = view_scene_create(&source, &s->scene, report);
    return status;
}

/* Notes for the page that a part of a record cannot be read. */
static void tell_damage(view_session *s, const view_damage *damage) {
    char text[160];
    if (!damage->found || s->told_damage) return;
    view_damage_text(damage, text);
    view_scene_add_note(s->scene, text);
    view_scene_add_summary(s->scene, "the record is", text);
    s->told_damage = 1;
    ++s->summaries;
}

static soa_status open_replay(view_session *s, soa_report *report) {
    const soa_status status = view_replay_open(s->how.log, &s->replay, report);
    if (status) return status;
    soa_report ignored;
    view_replay *r = &s->replay;
    /* or without it. */
    view_summarise(r->scene, r->log, r->has_scenario ? &r->scenario : NULL, r->world, &ignored);
    s->log = s->replay.log;
    s->scene = s->replay.scene;
    view_damage end = {0};
    struct stat about;
    view_damage_of_end(s->log, &end);
    if (end.found && !stat(s->how.log, &about) && time(NULL) - about.st_mtime > 10)
        tell_damage(s, &end); /* the record has no writer any more */
    return SOA_OK;
}

soa_status view_session_open(const view_session_options *options, view_session **session,
                             soa_report *report) {
    view_session *s = calloc(1, sizeof *s);
    *report = (soa_report){.body = -1};
    if (!s) return fail(report, SOA_E_MEMORY, "out of memory");
    s->how = *options;
    s->speed = options->speed;
    s->state.speed = options->speed;
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    s->has_lock = !pthread_mutex_init(&s->lock, NULL) && !pthread_cond_init(&s->news, &attributes);
    pthread_condattr_destroy(&attributes);
    soa_status status = s->has_lock ? SOA_OK : SOA_E_MEMORY;
    if (!status) status = options->log ? open_replay(s, report) : open_live(s, report);
    s->state.live = !options->log;
    if (!status && s->state.live) {
        publish(s);
        sum_up(s);
        s->has_thread = !pthread_create(&s->thread, NULL, simulate, s);
        if (!s->has_thread)
            status = fail(report, SOA_E_MEMORY, "the run's thread cannot be started");
    }
    if (status) {
        soa_report ignored;
        if (!report->text[0]) fail(report, status, soa_status_text(status));
        view_session_close(s, &ignored);
        return status;
    }
    *session = s;
    return SOA_OK;
}

soa_status view_session_close(view_session *s, soa_report *report) {
    *report = (soa_report){.body = -1};
    if (!s) return SOA_OK;
    if (s->has_thread) {
        pthread_mutex_lock(&s->lock);
        s->quit = 1;
        pthread_cond_signal(&s->news);
        pthread_mutex_unlock(&s->lock);
        pthread_join(s->thread, NULL);
    } else
        close_record(s, 0);
    if (s->closed.status && s->how.record) fail(report, s->closed.status, s->closed.text);
    if (s->has_lock) {
        pthread_mutex_destroy(&s->lock);
        pthread_cond_destroy(&s->news);
    }
    if (s->how.log) {
        view_replay_close(&s->replay);
    } else {
        view_scene_free(s->scene);
        soa_log_close(s->log);
        soa_log_close(s->new_log);
    }
    soa_work_free(s->work);
    soa_world_free(s->world);
    free(s->q);
    free(s->q_seen);
    free(s->q_new);
    free(s->v);
    free(s->v_seen);
    free(s->v_new);
    free(s->torque);
    free(s->record_path);
    free(s->response);
    free(s->values);
    free(s->start);
    free(s->start_events);
    free(s);
    return report->status;
}

/* --- calls of the server ---------------------------------------------------------------------- */
view_scene *view_session_scene(view_session *s) {
    return s->scene;
}
const char *view_session_why(const view_session *s) {
    return s->how.log && !view_body_count(s->scene) ? s->replay.why : NULL;
}
soa_log *view_session_log(view_session *s) {
    return s->log;
}

void view_session_look(view_session *s, view_session_state *state) {
    soa_log *fresh = NULL;
    soa_log_info info;
    soa_world_summary summary;
    pthread_mutex_lock(&s->lock);
    *state = s->state;
    const int new_summary = s->summary_serial != s->summary_seen, over = s->summary_over;
    s->summary_seen = s->summary_serial;
    summary = s->summary;
    snprintf(state->phase, sizeof state->phase, "%s", s->phase ? s->phase : "");
    fresh = s->new_log;
    s->new_log = NULL;
    pthread_mutex_unlock(&s->lock);
    if (fresh) {
        view_scene_set_log(s->scene, fresh);
        soa_log_close(s->log);
        s->log = fresh;
    }
    if (new_summary) {
        view_summarise_run(s->scene, &s->scenario, &summary, over);
        ++s->summaries;
    }
    state->summaries = s->summaries;
    soa_log_get_info(s->log, &info);
    if (!info.complete && !soa_log_refresh(s->log, NULL, NULL)) soa_log_get_info(s->log, &info);
    if (!s->state.live) {
        state->t = isfinite(info.last) ? info.last : 0;
        state->ended = info.complete;
    }
    state->first = info.samples ? info.first : state->t;
    state->last = info.samples ? info.last : state->t;
    state->events = info.events;
}

int view_session_command(view_session *s, const view_message *m, char why[100]) {
    soa_body_info info;
    const char *bad = NULL;
    if (!s->state.live)
        bad = "a record can only be looked at";
    else if (m->what == VIEW_JOINT && joint_of(s, m->q, &info))
        bad = "there is no joint with one coordinate there";
    else if (m->what == VIEW_PULL && (m->body < 1 || m->body > s->bodies))
        bad = "there is no such body";
    pthread_mutex_lock(&s->lock);
    /* only the newest position of a drag is kept, so that it never fills the queue */
    view_message *last = s->queued ? &s->queue[s->queued - 1] : NULL;
    if (!bad && last && last->what == m->what &&
        ((m->what == VIEW_PULL && last->body == m->body &&
          !memcmp(last->at, m->at, sizeof m->at)) ||
         (m->what == VIEW_JOINT && last->q == m->q && last->has_value && m->has_value) ||
         m->what == VIEW_SPEED))
        *last = *m;
    else if (!bad && s->queued == QUEUE)
        bad = "too many commands are on the way";
    else if (!bad)
        s->queue[s->queued++] = *m;
    if (!bad) pthread_cond_signal(&s->news);
    pthread_mutex_unlock(&s->lock);
    if (bad) snprintf(why, 100, "%s", bad);
    return bad ? -1 : 0;
}

void view_session_hold(view_session *s, int held) {
    pthread_mutex_lock(&s->lock);
    s->held = held;
    pthread_cond_signal(&s->news);
    pthread_mutex_unlock(&s->lock);
}

int view_session_frame(view_session *s, uint32_t id, uint64_t *serial, app_out *out) {
    view_state state = {.q = s->q_seen, .v = s->v_seen, .contacts = s->shown};
    const char *phase;
    pthread_mutex_lock(&s->lock);
    const int fresh = s->state.live && s->serial > *serial;
    if (fresh) {
        memcpy(s->q_seen, s->q, (size_t)s->nq * sizeof *s->q);
        memcpy(s->v_seen, s->v, (size_t)s->nv * sizeof *s->v);
        memcpy(s->contacts_seen, s->contacts, (size_t)s->contact_count * sizeof *s->contacts);
        state.contact_count = s->contact_count;
        state.t = s->t;
        phase = s->phase;
        *serial = s->serial;
    }
    pthread_mutex_unlock(&s->lock);
    if (!fresh) return 0;
    state.phase = phase && *phase ? view_phase_of(s->scene, phase) : -1;
    for (int i = 0; i < state.contact_count; ++i)
        view_contact_of(s->scene, &s->contacts_seen[i], &s->shown[i]);
    return view_frame(s->scene, id, &state, out) ? -1 : 1;
}

static int has_samples(const view_session *s) {
    soa_log_info info;
    soa_log_get_info(s->log, &info);
    return info.samples > 0;
}
soa_status view_session_answer(view_session *s, const view_message *m, app_out *out,
                               soa_report *report) {
    view_session_state state;
    view_session_look(s, &state);
    uint64_t newest = 0;
    soa_status status;
    *report = (soa_report){.body = -1};
    switch (m->what) {
    case VIEW_FRAME:
        /* The newest states of a run are not in the record yet; at the beginning none is. */
        if (s->state.live && (m->t >= state.t || !has_samples(s)) &&
            view_session_frame(s, m->id, &newest, out) == 1)
            return SOA_OK;
        return view_frame_of_log(s->scene, m->id, m->t, out, report);
    case VIEW_OVERVIEW:
        status = view_overview(s->scene, m->id, m->signals, m->signal_count, m->t0, m->t1,
                               m->columns, out, report);
        break;
    case VIEW_SAMPLES:
        status = view_samples(s->scene, m->id, m->signals, m->signal_count, m->t0, m->t1,
                              VIEW_VALUES_MOST, out, report);
        break;
    default: return fail(report, SOA_E_ARGUMENT, "not a question");
    }
    /* Damage found on the way. */
    tell_damage(s, view_scene_damage(s->scene));
    return status;
}
