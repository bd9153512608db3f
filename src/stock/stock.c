/* stock.c  the shipped models: their list, and how a name becomes a model. */
#include "stock.h"
#include "../base/base_internal.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Why a free joint under the root link makes no sense; NULL: it can be had, or the model has it
 * already. */
static const char flat[] = "a free joint would take it out of its plane";
static const char forest[] =
    "it may have several roots, so no link is the one to put a free joint under";
static const char loop[] = "its last joint ties it to the world";
static const char object[] = "its object moves against the fixed base; use two-puma";

typedef struct family {
    const char *name; /* as listed: "chain:N" takes a number after the colon */
    const char *text;
    soai_stock_fn *fill;
    long lowest, highest; /* of the number; equal: none is taken */
    const char *refusal;  /* of --floating */
} family;

/* clang-format off */
static const family families[] = {
    {"puma560", "PUMA 560, 6 joints, with motors, gears and friction (standard DH; Corke & Armstrong-Helouvry 1994)",
     soai_stock_puma560, 0, 0, NULL},
    {"puma560-akb", "PUMA 560, the modified DH set of Armstrong, Khatib & Burdick 1986",
     soai_stock_puma560_akb, 0, 0, NULL},
    {"two-puma", "two PUMA 560 on one base, 12 joints, no gravity (Walker & Dionise's space robot, WD89)",
     soai_stock_two_puma, 0, 0, NULL},
    {"two-puma-object", "two-puma with WD89's floating object: five massless links and six 1-dof joints",
     soai_stock_two_puma_object, 0, 0, object},
    {"arm7", "7-joint arm with the numbers of the KUKA iiwa",
     soai_stock_arm7, 0, 0, NULL},
    {"satellite", "free-flying satellite with two 7-joint arms, 20 degrees of freedom, no gravity",
     soai_stock_satellite, 0, 0, NULL},
    {"quadruped", "four-legged robot on a free base, 12 joints, 18 degrees of freedom",
     soai_stock_quadruped, 0, 0, NULL},
    {"humanoid", "humanoid on a free base, 24 joints, 30 degrees of freedom",
     soai_stock_humanoid, 0, 0, NULL},
    {"planar-chain:N", "N equal rods in the vertical x-z plane, joints about -y (R87 section XII)",
     soai_stock_planar_chain, 1, 100000, flat},
    {"chain:N", "N equal links in space, axes z, y, x in turn: the chain of the benchmarks",
     soai_stock_chain, 1, 100000, NULL},
    {"dh-arm:N", "N revolute joints, modified Denavit-Hartenberg, every parameter general",
     soai_stock_dh_arm, 1, 100000, NULL},
    {"dh-arm-90:N", "the same with alpha 0, -90, 90 degrees in turn from joint 2 on, as industrial arms have it",
     soai_stock_dh_arm_90, 1, 100000, NULL},
    {"random:SEED", "random tree or forest, 1 to 30 links, every joint type, rotors, friction, springs, mimic joints",
     soai_stock_random, 0, 2147483647, forest},
    {"random-ideal:SEED", "the same trees without rotors, friction and springs, mimic joints independent",
     soai_stock_random_ideal, 0, 2147483647, forest},
    {"random-square:SEED", "trees drawn with quarter turns and axes along x, y, z that often meet; joints of every type",
     soai_stock_random_square, 0, 2147483647, forest},
    {"four-bar", "a crank, a coupler and a rocker, one loop, in the vertical x-z plane",
     soai_stock_four_bar, 0, 0, flat},
    {"andrews", "Andrews' squeezing mechanism, 7 bodies and 3 loops (IFToMM A03), without its spring; no gravity",
     soai_stock_andrews, 0, 0, flat},
    {"bricard", "Bricard's mechanism, 5 rods and 6 revolute joints in one loop that moves (IFToMM A04)",
     soai_stock_bricard, 0, 0, loop},
};
/* clang-format on */
enum { FAMILY_COUNT = (int)(sizeof families / sizeof families[0]) };

const char *soa_stock_model_name(int index) {
    return index >= 0 && index < FAMILY_COUNT ? families[index].name : NULL;
}

const char *soa_stock_model_text(int index) {
    return index >= 0 && index < FAMILY_COUNT ? families[index].text : NULL;
}

/* --- the definition under construction -------------------------------------------------------- */

enum { NAME_BLOCK = 8192 };
struct soai_name_block {
    soai_name_block *next;
    size_t used;
    char text[NAME_BLOCK];
};

const char *soai_stock_text(soai_stock *stock, const char *format, ...) {
    char text[SOA_DH_NAME];
    va_list list;
    va_start(list, format);
    int length = vsnprintf(text, sizeof text, format, list);
    va_end(list);
    if (length < 0 || (size_t)length >= sizeof text) {
        stock->status = SOA_E_NAME;
        return "";
    }
    size_t need = (size_t)length + 1;
    soai_name_block *block = stock->names;
    if (block == NULL || NAME_BLOCK - block->used < need) {
        block = malloc(sizeof *block);
        if (block == NULL) {
            stock->status = SOA_E_MEMORY;
            return "";
        }
        block->next = stock->names;
        block->used = 0;
        stock->names = block;
    }
    char *kept = block->text + block->used;
    memcpy(kept, text, need);
    block->used += need;
    return kept;
}

static void *grow(void *array, int *room, int need, size_t item) {
    if (need <= *room) return array;
    int more = *room < 32 ? 64 : 2 * *room;
    if (more < need) more = need;
    void *larger = realloc(array, (size_t)more * item);
    if (larger != NULL) *room = more;
    return larger;
}

int soai_stock_room(soai_stock *stock, int bodies, int frames) {
    void *larger =
        grow(stock->bodies, &stock->body_room, stock->body_count + bodies, sizeof *stock->bodies);
    if (larger != NULL) {
        stock->bodies = larger;
        larger = grow(stock->frames, &stock->frame_room, stock->frame_count + frames,
                      sizeof *stock->frames);
        if (larger != NULL || frames == 0) {
            stock->frames = larger;
            return 1;
        }
    }
    stock->status = SOA_E_MEMORY;
    return 0;
}

soa_body_def *soai_stock_body(soai_stock *stock, const char *name, int parent,
                              soa_joint_type type) {
    soa_body_def body = soa_body_default(name, parent, type);
    soa_body_def *place = &stock->spare;
    if (soai_stock_room(stock, 1, 0)) place = &stock->bodies[stock->body_count++];
    *place = body;
    return place;
}

soa_body_def *soai_stock_base(soai_stock *stock) {
    soa_body_def *base = soai_stock_body(stock, "base", 0, stock->floating ? SOA_FREE : SOA_FIXED);
    if (stock->floating) base->joint_name = "root";
    return base;
}

void soai_stock_frame(soai_stock *stock, const char *name, int link, const soa_frame *placement) {
    if (!soai_stock_room(stock, 0, 1)) return;
    stock->frames[stock->frame_count++] =
        (soa_frame_def){.name = name, .link = link, .placement = *placement};
}

soa_constraint_def *soai_stock_constraint(soai_stock *stock, const char *name,
                                          soa_constraint_kind kind, int link1, int link2) {
    soa_constraint_def *place = &stock->spare_constraint;
    void *larger = grow(stock->constraints, &stock->constraint_room, stock->constraint_count + 1,
                        sizeof *stock->constraints);
    if (larger != NULL) {
        stock->constraints = larger;
        place = &stock->constraints[stock->constraint_count++];
    } else {
        stock->status = SOA_E_MEMORY;
    }
    *place = soa_constraint_default(kind, link1, link2);
    place->name = name;
    return place;
}

soa_frame soai_at(double x, double y, double z) {
    soa_frame frame = soa_frame_identity();
    frame.p[0] = x;
    frame.p[1] = y;
    frame.p[2] = z;
    return frame;
}

void soai_axis(soa_body_def *body, double x, double y, double z) {
    body->joint.axis[0] = x;
    body->joint.axis[1] = y;
    body->joint.axis[2] = z;
}

void soai_com(soa_body_def *body, double x, double y, double z) {
    body->com[0] = x;
    body->com[1] = y;
    body->com[2] = z;
}

void soai_limits(soa_body_def *body, double lower, double upper, double speed, double effort) {
    body->joint.lower = lower;
    body->joint.upper = upper;
    body->joint.max_speed = speed;
    body->joint.max_effort = effort;
}

static void release(soai_stock *stock) {
    while (stock->names != NULL) {
        soai_name_block *next = stock->names->next;
        free(stock->names);
        stock->names = next;
    }
    free(stock->bodies);
    free(stock->frames);
    free(stock->constraints);
}

/* --- names ------------------------------------------------------------------------------------ */

static size_t stem(const char *name) {
    return strcspn(name, ":");
}

static const family *find(const char *name) {
    size_t length = stem(name);
    for (int i = 0; i < FAMILY_COUNT; i++)
        if (stem(families[i].name) == length && strncmp(families[i].name, name, length) == 0)
            return &families[i];
    return NULL;
}

int soai_stock_is_name(const char *name) {
    return find(name) != NULL;
}

const char *soai_stock_hint(const char *name, char hint[SOAI_HINT]) {
    enum { LONGEST = 32 };
    char word[LONGEST + 1], stems[FAMILY_COUNT][LONGEST + 1];
    snprintf(word, sizeof word, "%.*s", (int)stem(name), name);
    soai_nearest search = soai_nearest_to(stem(name) <= LONGEST ? word : "");
    for (int i = 0; i < FAMILY_COUNT; i++) {
        snprintf(stems[i], sizeof stems[i], "%.*s", (int)stem(families[i].name), families[i].name);
        soai_nearest_try(&search, stems[i]);
    }
    if (search.best == NULL) return " (soa models lists them)";
    for (int i = 0; i < FAMILY_COUNT; i++)
        if (search.best == stems[i]) search.best = families[i].name; /* with its colon */
    return soai_nearest_hint(&search, hint);
}

/* The number after the colon, or why there is none. */
static soa_status parse_number(const family *f, const char *name, long *number,
                               soa_report *report) {
    const char *text = name + stem(name);
    int length = (int)stem(name);
    if (f->lowest == f->highest) {
        if (*text == '\0') return SOA_OK;
        return soai_report(report, SOA_E_NAME, -1, 0,
                           "%s: the shipped model \"%s\" takes no number", name, f->name);
    }
    char *end = NULL;
    errno = 0;
    if (*text == ':' && isdigit((unsigned char)text[1])) *number = strtol(text + 1, &end, 10);
    if (end == NULL || *end != '\0' || errno != 0 || *number < f->lowest || *number > f->highest)
        return soai_report(
            report, SOA_E_NAME, -1, 0,
            "%.80s: write a whole number from %ld to %ld after the colon, as in %.*s:10", name,
            f->lowest, f->highest, length, name);
    return SOA_OK;
}

/* The constraints as the caller keeps them: definitions, and their names behind them. */
static soa_status hand_over(const soai_stock *stock, soa_constraint_list *list) {
    size_t count = (size_t)stock->constraint_count, text = 0;
    *list = (soa_constraint_list){0, NULL};
    if (count == 0) return SOA_OK;
    for (size_t i = 0; i < count; i++)
        text += strlen(stock->constraints[i].name) + 1;
    soa_constraint_def *defs = malloc(count * sizeof *defs + text);
    if (defs == NULL) return SOA_E_MEMORY;
    char *names = (char *)(defs + count);
    for (size_t i = 0; i < count; i++) {
        defs[i] = stock->constraints[i];
        defs[i].name = strcpy(names, stock->constraints[i].name);
        names += strlen(names) + 1;
    }
    *list = (soa_constraint_list){stock->constraint_count, defs};
    return SOA_OK;
}

soa_status soa_stock_model_create(const char *name, const soa_read_options *options,
                                  const soa_model **model, soa_report *report) {
    soai_report_reset(report);
    return soai_report_end(report, soai_stock_open(name, options, model, NULL, report));
}

soa_status soai_stock_open(const char *name, const soa_read_options *options,
                           const soa_model **model, soa_constraint_list *list, soa_report *report) {
    if (name == NULL || model == NULL)
        return soai_report(report, SOA_E_ARGUMENT, -1, 0,
                           "soa_stock_model_create: name and model are needed");
    const family *f = find(name);
    char hint[SOAI_HINT];
    if (f == NULL)
        return soai_report(report, SOA_E_NAME, -1, 0, "there is no shipped model \"%.80s\"%s", name,
                           soai_stock_hint(name, hint));
    soai_stock stock = {.gravity = {0, 0, -9.81}, .status = SOA_OK};
    soa_status status = parse_number(f, name, &stock.number, report);
    if (status != SOA_OK) return status;

    stock.floating = options != NULL && options->floating;
    if (stock.floating && f->refusal != NULL)
        return soai_report(report, SOA_E_ARGUMENT, -1, 0, "%s cannot float: %s", name, f->refusal);
    stock.ideal = options != NULL && options->ideal;

    f->fill(&stock);
    if (stock.status != SOA_OK)
        status =
            soai_report(report, stock.status, -1, 0, "%s: %s", name, soa_status_text(stock.status));
    else {
        soa_model_def def = soa_model_default(name, stock.bodies, stock.body_count);
        memcpy(def.gravity, stock.gravity, sizeof def.gravity);
        def.frames = stock.frames;
        def.frame_count = stock.frame_count;
        def.ideal = stock.ideal;
        if (list != NULL && (status = hand_over(&stock, list)) != SOA_OK)
            status = soai_report(report, status, -1, 0, "%s: %s", name, soa_status_text(status));
        else
            status = soa_model_create(&def, model, report);
        if (status != SOA_OK && list != NULL) soa_constraint_list_free(list);
    }
    release(&stock);
    return status;
}
