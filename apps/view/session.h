/* session.h  what is shown: a live run in its own thread, or a record that is played back.
 *
 * A live run owns its world: soa_world_run in the session's thread, which waits between two ticks
 * while the run is paused or ahead of its clock. The record is written to a journal (a requested
 * file, else an unnamed one that disappears with the program), from which viewers read it back. The
 * newest state is copied after every tick under a short lock, and commands come through a bounded
 * queue, so viewers cannot block the run.
 *
 * All calls except view_session_open and _close are made by one thread, the server's. They never
 * wait for the run. */
#ifndef VIEW_SESSION_H
#define VIEW_SESSION_H
#include "message.h"
#include "scene.h"

typedef struct view_session view_session;

/* Either log, or scenario with what follows it. Everything referenced here must outlive the
 * session. */
typedef struct view_session_options {
    const char *log; /* a journal to play back; it may still be growing */
    soa_scenario *scenario;
    const char *kind;  /* "scenario" or "model" */
    const char *spec;  /* name by which a model was opened; NULL: none */
    const char *title; /* NULL: that of the scenario */
    /* Kept; a reset begins NAME-2.soalog, ... NULL: an unnamed file. */
    const char *record;
    double room;          /* bytes at which a run with an unnamed record is paused */
    double until;         /* s; 0: the scenario's duration */
    double speed;         /* multiple of real time; 0: as fast as possible */
    void (*wake)(void *); /* called in the run's thread when there is news */
    void *wake_user;
} view_session_options;

/* Opens the session. A live run begins paused. Allocates. */
soa_status view_session_open(const view_session_options *options, view_session **session,
                             soa_report *report);
/* Ends the run at the next tick. A requested record is kept: complete if the run was, else ready
 * for `soa sim --resume`. Returns SOA_OK, or the record's failure. */
soa_status view_session_close(view_session *session, soa_report *report);

view_scene *view_session_scene(view_session *session);
/* Why a log's machine cannot be shown; NULL: it is shown. */
const char *view_session_why(const view_session *session);
/* The record. It changes with a view_session_look that finds the run restarted. */
soa_log *view_session_log(view_session *session);

typedef struct view_session_state {
    int live, playing, ended;
    double speed, t, factor; /* factor: simulated time over real time */
    double first, last;      /* times of the record */
    int64_t events;          /* number in the record */
    int record;              /* grows with every reset: another record */
    uint64_t done;           /* number of commands executed: states after them are news */
    uint64_t tick;           /* ticks since the session began, including those before resets */
    uint64_t errors;         /* grows with every error */
    uint64_t summaries;      /* grows whenever the scene's summary or notes change */
    char error[sizeof((soa_report *)0)->text], phase[64];
} view_session_state;
/* Gets the present state, and takes note of what was added to the record. */
void view_session_look(view_session *session, view_session_state *state);

/* Sends a command (not FRAME, OVERVIEW, SAMPLES). Returns 0, or -1 and why: not a live run, no such
 * joint, queue full. */
int view_session_command(view_session *session, const view_message *message, char why[100]);

/* held: there are no viewers. The run waits between two ticks and continues from there later. */
void view_session_hold(view_session *session, int held);

/* Appends the newest state as a frame if it is newer than *serial. 1: appended, *serial is its
 * number; 0: nothing new; -1: failure. */
int view_session_frame(view_session *session, uint32_t id, uint64_t *serial, app_out *out);
/* Writes frames, overviews and samples requested by a message. */
soa_status view_session_answer(view_session *session, const view_message *message, app_out *out,
                               soa_report *report);

/* A scenario of a single model: one part, gravity as in the model. Release with
 * view_machine_free. */
typedef struct view_machine {
    soa_scenario scenario;
    char *text; /* text of the scenario */
} view_machine;
soa_status view_machine_open(const char *spec, int floating, view_machine *machine,
                             soa_report *report);
void view_machine_free(view_machine *machine);

#endif
