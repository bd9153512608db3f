/* session.h  what is looked at: a live run in a thread of its own, or a record that is played back.
 *
 * A live run owns its world: soa_world_run in the session's thread, held between two ticks while it is paused or ahead of its
 * clock.  The record goes to a journal (a file that is asked for, else one that nobody can see and that ends with the
 * program); whoever looks reads it back.  The newest state is copied out after every tick under a short lock, commands come
 * in through a bounded queue: nobody who looks can hold the run up.
 * All calls but view_session_open and _close are made by one thread, the server's; they never wait for the run.          */
#ifndef VIEW_SESSION_H
#define VIEW_SESSION_H
#include "message.h"
#include "scene.h"

typedef struct view_session view_session;

/* Either log, or scenario with what follows it.  All that is named here must outlive the session. */
typedef struct view_session_options {
    const char *log; /* a journal to be played back; it may still be growing */
    soa_scenario *scenario;
    const char *kind;     /* "scenario" or "model"                              */
    const char *spec;     /* what a model was opened by; NULL: none             */
    const char *title;    /* NULL: the scenario's                               */
    const char *record;   /* kept: a reset begins NAME-2.soalog, ...; NULL: a file without a name */
    double room;          /* bytes at which a run without a named record is paused */
    double until;         /* s; 0: the scenario's duration                  */
    double speed;         /* times real time; 0: as fast as it goes         */
    void (*wake)(void *); /* called in the run's thread when there is news  */
    void *wake_user;
} view_session_options;

/* Opens what is to be seen; a live run begins paused.  Allocates. */
soa_status view_session_open(const view_session_options *options, view_session **session, soa_report *report);
/* Ends the run at the next tick.  A record that was asked for stays: complete if the run was, else fit for `soa sim --resume`.
 * SOA_OK, or what the record says. */
soa_status view_session_close(view_session *session, soa_report *report);

view_scene *view_session_scene(view_session *session);
/* Why a log's machine cannot be shown; NULL: it is. */
const char *view_session_why(const view_session *session);
/* The record; another one after each view_session_look that finds the run begun anew. */
soa_log *view_session_log(view_session *session);

typedef struct view_session_state {
    int live, playing, ended;
    double speed, t, factor; /* factor: simulated over passed time                     */
    double first, last;      /* of the record                                          */
    int64_t events;          /* in the record                                          */
    int record;              /* grows with every reset: another record                 */
    uint64_t done;           /* commands carried out: states after them are news       */
    uint64_t tick;           /* ticks made since the session began, also over resets   */
    uint64_t errors;         /* grows with every one                                   */
    uint64_t summaries;      /* grows whenever the scene's summary or notes change     */
    char error[sizeof((soa_report *)0)->text], phase[64];
} view_session_state;
/* How it stands; takes notice of what the record has got since. */
void view_session_look(view_session *session, view_session_state *state);

/* A command (not FRAME, OVERVIEW, SAMPLES).  0, or -1 and why: not a live run, no such joint, too many on the way. */
int view_session_command(view_session *session, const view_message *message, char why[100]);

/* Nobody looks: the run waits between two ticks, whatever it was doing, and goes on from there. */
void view_session_hold(view_session *session, int held);

/* The newest state as a frame, if it is newer than *serial; 1: appended, and *serial is its number; 0: nothing new; -1: fault */
int view_session_frame(view_session *session, uint32_t id, uint64_t *serial, app_out *out);
/* Frames, overviews and samples that a message asks for. */
soa_status view_session_answer(view_session *session, const view_message *message, app_out *out, soa_report *report);

/* A model alone as a scenario: one part, gravity as in the model.  Release with view_machine_free. */
typedef struct view_machine {
    soa_scenario scenario;
    char *text; /* of the scenario */
} view_machine;
soa_status view_machine_open(const char *spec, int floating, view_machine *machine, soa_report *report);
void view_machine_free(view_machine *machine);

#endif
