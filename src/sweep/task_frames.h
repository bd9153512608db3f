/* task_frames.h  the frames whose compliance is asked for, as operational.h reads them. */
#ifndef SOAI_TASK_FRAMES_H
#define SOAI_TASK_FRAMES_H
#include "../model/model_internal.h"
#include "soa/dynamics.h"

/* Frame number and axes of each are in the caller's own array, `frame_step` and `axes_step` bytes
 * apart. */
typedef struct soai_task_frames {
    int count;
    const int *frame;
    const soa_axes *axes;
    size_t frame_step, axes_step;
    const soai_frame_row *row;    /* all frames of the model */
    int *path, *node, *up, *mark; /* room for one per body and the world; mark is zero between
                                   * calls */
} soai_task_frames;

static inline const soai_frame_row *soai_task_row(const soai_task_frames *t, int i) {
    return t->row +
           *(const int *)(const void *)((const char *)t->frame + (size_t)i * t->frame_step);
}
static inline int soai_task_world(const soai_task_frames *t, int i) {
    const void *at = (const char *)t->axes + (size_t)i * t->axes_step;
    return *(const soa_axes *)at == SOA_AXES_WORLD;
}

#endif
