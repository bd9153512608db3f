/* stock.h  private to src/stock: a growing model definition, and the families that fill it.
 *
 * A family adds bodies and frames to a soai_stock; names live there until the model is built.
 * Failure to get memory is remembered in `status`: the helpers stay safe to call, and
 * soa_stock_model_create reports once at the end. */
#ifndef SOAI_STOCK_H
#define SOAI_STOCK_H

#include "../base/nearest.h"
#include "../base/small_algebra.h"
#include "soa/stock.h"

#define SOAI_DEGREE (SOAI_PI / 180.0)

typedef struct soai_name_block soai_name_block;

typedef struct soai_stock {
    double gravity[3];
    int floating; /* the root link is to be carried by a free joint named "root" */
    long number;  /* N or SEED of the name, where the family takes one           */
    int ideal;
    soa_status status;

    int body_count, body_room, frame_count, frame_room, constraint_count, constraint_room;
    soa_body_def *bodies;
    soa_frame_def *frames;
    soa_constraint_def *constraints; /* frames are link numbers */
    soai_name_block *names;
    soa_constraint_def spare_constraint;
    soa_body_def spare; /* handed out when memory has run out */
} soai_stock;

/* Text kept until the model is built. */
const char *soai_stock_text(soai_stock *stock, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Room for more bodies and frames at the end of the arrays; 0 if there is none. */
int soai_stock_room(soai_stock *stock, int bodies, int frames);
/* Appends a default body; its link number is stock->body_count afterwards.  The pointer is good
 * until the next call. */
soa_body_def *soai_stock_body(soai_stock *stock, const char *name, int parent, soa_joint_type type);
/* The root link "base": fixed to the world, or on the free joint "root" if the reader wants it
 * floating. */
soa_body_def *soai_stock_base(soai_stock *stock);
void soai_stock_frame(soai_stock *stock, const char *name, int link, const soa_frame *placement);

/* Appends a default constraint between two links; the pointer is good until the next call. */
soa_constraint_def *soai_stock_constraint(soai_stock *stock, const char *name,
                                          soa_constraint_kind kind, int link1, int link2);

soa_frame soai_at(double x, double y, double z);
/* Sets the joint's axis. */
void soai_axis(soa_body_def *body, double x, double y, double z);
void soai_com(soa_body_def *body, double x, double y, double z);
void soai_limits(soa_body_def *body, double lower, double upper, double speed, double effort);

/* Whether a name, up to its colon, is a shipped model's; and what to say where it is none, into
 * hint: the name that looks like it, or where they are listed. */
int soai_stock_is_name(const char *name);
const char *soai_stock_hint(const char *name, char hint[SOAI_HINT]);

/* soa_stock_model_create, with the constraints of the model (list may be NULL). */
soa_status soai_stock_open(const char *name, const soa_read_options *options,
                           const soa_model **model, soa_constraint_list *list, soa_report *report);

typedef void soai_stock_fn(soai_stock *stock);
soai_stock_fn soai_stock_puma560, soai_stock_puma560_akb, soai_stock_two_puma,
    soai_stock_two_puma_object;
soai_stock_fn soai_stock_arm7, soai_stock_satellite, soai_stock_quadruped, soai_stock_humanoid;
soai_stock_fn soai_stock_planar_chain, soai_stock_chain, soai_stock_dh_arm, soai_stock_dh_arm_90;
soai_stock_fn soai_stock_random, soai_stock_random_ideal, soai_stock_random_square;
soai_stock_fn soai_stock_four_bar, soai_stock_andrews, soai_stock_bricard;

#endif
