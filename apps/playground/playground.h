/* playground.h  libsoa for a web page: the functions that the browser calls, compiled to
 * WebAssembly.
 *
 * A session holds one machine and its state. The page writes the state to the address given by
 * play_vector(), requests quantities by name, and reads numbers at the address given by
 * play_numbers(). Memory may grow in any call, so it gets the address again each time. Calls that
 * can fail return -1 (or NULL); play_message() then explains why. Units and conventions are those
 * of docs/view-protocol.md. Models are saved-model buffers, so neither files nor XML are needed.
 *
 *    playground.c   the session, the scene as JSON, all quantities of soa/dynamics.h that the
 *                   page or the tests use
 *    motion.c       free motion: fixed steps, a pulled body, a led joint
 *    expression.c   operator expressions: checked, planned, explained, run, compared with the
 *                   dense oracle */
#ifndef SOA_PLAYGROUND_H
#define SOA_PLAYGROUND_H

#include "../output/out.h"
#include "soa/operator.h"

#if defined(__GNUC__)
#define PLAY_API __attribute__((used, visibility("default")))
#else
#define PLAY_API
#endif

enum { PLAY_MOST_TIPS = 64, PLAY_MOST_NUMBERS = 1 << 22 };

/* A spring and damper between a point of a body and a point of the world, or on one joint. */
typedef struct play_pull {
    int body; /* 0: none */
    double at[3], to[3], stiffness, damping;
} play_pull;
typedef struct play_lead {
    int q, v; /* -1: none */
    double to, stiffness, damping;
} play_lead;

typedef struct play {
    void *bytes; /* the buffer as received */
    /* As received; with the requested gravity; without gravity. */
    const soa_model *given, *model, *floating;
    soa_work *work, *floating_work;
    soa_machine *machine;
    /* Why there are no operators for this machine, if so. */
    char refused[sizeof((soa_report *)0)->text];
    int tips[PLAY_MOST_TIPS], tip_count;
    double *q, *v, *a, *tau, *f0;
    soa_wrench push; /* frame -1: none */
    int pushes;
    play_pull pull;
    play_lead lead;
    double *stages; /* for motion.c */
    /* As given; applied to x and simplified; the one of the two that is run. */
    const soa_expr *expr, *applied, *planned;
    soa_plan *plan;
    soa_space from, to;
    double *numbers, *dense;
    size_t room, dense_room;
    double difference;
    app_out text;
} play;

/* --- playground.c ----------------------------------------------------------------------------- */
PLAY_API const char *play_message(void);
PLAY_API const char *play_version(void);
/* Checks and copies `size` bytes. */
PLAY_API play *play_open(const void *bytes, size_t size);
PLAY_API void play_close(play *p);
/* The scene of docs/view-protocol.md, without shapes. */
PLAY_API const char *play_scene(play *p);
/* Address of q, v, a, tau or f0; NULL for other names. */
PLAY_API double *play_vector(play *p, const char *name);
PLAY_API int play_frame(const play *p, const char *name);
/* play_gravity keeps state and expression. After play_tips the expression must be given again. */
PLAY_API int play_gravity(play *p, double x, double y, double z);
PLAY_API int play_tips(play *p, const int *frames, int count);
/* External wrench at a frame, in world axes, used by rnea and aba; frame -1: none. */
PLAY_API int play_push(play *p, int frame, double nx, double ny, double nz, double fx, double fy,
                       double fz);
/* Computes a quantity of the state. Returns how many numbers it has, or -1.
 *     places (of all bodies) pose velocity jacobian jdot_v (of a frame) mass mass_inv rnea bias
 *     gravity aba energy com momentum drnea_dq drnea_dv daba_dq daba_dv */
PLAY_API int play_compute(play *p, const char *name, int frame);
PLAY_API double *play_numbers(play *p);
/* Forward dynamics `count` times, for timing. */
PLAY_API int play_repeat(play *p, int count);

/* --- motion.c --------------------------------------------------------------------------------- */
/* Takes `count` steps of dt. decay (1/s): every speed decays like exp(-decay t). floats: without
 * gravity. */
PLAY_API int play_move(play *p, double dt, int count, double decay, int floats);
PLAY_API int play_pull_body(play *p, int body, double ax, double ay, double az, double x, double y,
                            double z);
PLAY_API int play_lead_joint(play *p, int q, double to);
PLAY_API void play_release(play *p);

/* --- expression.c ----------------------------------------------------------------------------- */
/* Sets an expression or the name of an algorithm. Returns a description as JSON, or NULL if it is
 * wrong (the message has a caret). */
PLAY_API const char *play_expression(play *p, const char *text, int as_written);
/* Runs it at the state. Returns the number of results, rows x columns, or -1. An operator is run
 * once for each column. */
PLAY_API int play_run(play *p);
/* The same by dense arithmetic alone, directly after play_run(). play_difference() is then the
 * largest difference divided by the largest number. */
PLAY_API int play_run_dense(play *p);
PLAY_API double play_difference(const play *p);
PLAY_API double *play_dense_numbers(play *p);
PLAY_API const char *play_forms(play *p);
void play_expression_drop(play *p);
int play_expression_plan(play *p, char *why, size_t room);

/* --- shared ----------------------------------------------------------------------------------- */
int play_fail(const char *format, ...)
#if defined(__GNUC__)
    __attribute__((format(printf, 1, 2)))
#endif
    ;
int play_status(soa_status status);
double *play_room(double **numbers, size_t *room, size_t count); /* NULL: no memory */
/* p->text, terminated by 0. */
const char *play_text(play *p);

#endif
