/* shape.c  shapes: what is a usable one, the farthest point along a direction, the box that
 *          encloses it.
 *
 * Support points are numbered, so that a search knows one that it has met and a later search can
 * begin where the last one ended: sphere 0; capsule 0, 1; box the bits of its signs; polytope its
 * vertices.  A cylinder's have no number.  Cost of a support: O(1); polytope O(vertices), or with
 * neighbours known about O(sqrt(vertices)). */
#include "collision_internal.h"
#include "../base/base_internal.h"

enum { SCAN_MOST = 24 }; /* up to so many vertices a scan is faster than a climb */

/* ---- which are usable ------------------------------------------------------------------------ */
/* rows of `list` as start says: monotone, entries 0 to below - 1, at least `least` in a row */
static int rows_are_usable(const int *start, const int *list, int rows, int below, int least) {
    if (start[0] < 0) return 0;
    for (int i = 0; i < rows; ++i) {
        if (start[i + 1] - start[i] < least) return 0;
        for (int k = start[i]; k < start[i + 1]; ++k)
            if (list[k] < 0 || list[k] >= below) return 0;
    }
    return 1;
}

soa_status soa_shape_check(const soa_shape *shape, soa_report *report) {
    soai_report_reset(report);
#define REFUSE(code, ...) return soai_report(report, code, -1, 0, __VA_ARGS__)
    static const char axis[] = "xyz";
    if (!shape) REFUSE(SOA_E_ARGUMENT, "no shape is given");
    if ((unsigned)shape->type >= SOA_SHAPE_TYPE_COUNT)
        REFUSE(SOA_E_ARGUMENT, "%d is no type of shape", (int)shape->type);
    if (shape->type == SOA_SHAPE_PLANE) return SOA_OK;
    if (!isfinite(shape->radius)) REFUSE(SOA_E_NOT_FINITE, "the radius is not a finite number");
    if (shape->radius < 0) REFUSE(SOA_E_ARGUMENT, "the radius is %g m, below 0", shape->radius);
    const int used[SOA_SHAPE_TYPE_COUNT][3] = {[SOA_SHAPE_CAPSULE] = {0, 0, 1},
                                               [SOA_SHAPE_BOX] = {1, 1, 1},
                                               [SOA_SHAPE_CYLINDER] = {1, 0, 1}};
    for (int i = 0; i < 3; ++i) {
        if (!used[shape->type][i]) continue;
        if (!isfinite(shape->half[i]))
            REFUSE(SOA_E_NOT_FINITE, "the half length along %c is not a finite number", axis[i]);
        if (shape->half[i] < 0)
            REFUSE(SOA_E_ARGUMENT, "the half length along %c is %g m, below 0", axis[i],
                   shape->half[i]);
    }
    if (shape->type != SOA_SHAPE_POLYTOPE) return SOA_OK;
    const int n = shape->vertex_count;
    if (n < 1 || !shape->vertices) REFUSE(SOA_E_ARGUMENT, "a polytope without vertices");
    for (int i = 0; i < n; ++i)
        if (!soai_all_finite(shape->vertices + 3 * (size_t)i, 3))
            REFUSE(SOA_E_NOT_FINITE, "vertex %d is not finite numbers", i);
    if (!shape->neighbour_start != !shape->neighbours)
        REFUSE(SOA_E_ARGUMENT, "of neighbour_start and neighbours one is missing");
    if (shape->neighbours && !rows_are_usable(shape->neighbour_start, shape->neighbours, n, n, 0))
        REFUSE(SOA_E_ARGUMENT, "the neighbours of the vertices are out of range");
    if (shape->face_count < 0)
        REFUSE(SOA_E_ARGUMENT, "the number of faces is %d", shape->face_count);
    if (shape->face_count > 0 && (!shape->face_start || !shape->faces))
        REFUSE(SOA_E_ARGUMENT, "%d faces, but no lists of their corners", shape->face_count);
    if (shape->face_count > 0 &&
        !rows_are_usable(shape->face_start, shape->faces, shape->face_count, n, 3))
        REFUSE(SOA_E_ARGUMENT, "a face has fewer than 3 corners, or one out of range");
    return SOA_OK;
#undef REFUSE
}

/* ---- support --------------------------------------------------------------------------------- */
/* no branches: which is farthest cannot be foreseen */
static int scan(const double *x, int n, const double d[3]) {
    int best = 0;
    double most = SOAI_DOT(x, d);
    for (int i = 1; i < n; ++i) {
        const double s = SOAI_DOT(x + 3 * i, d);
        best = s > most ? i : best;
        most = s > most ? s : most;
    }
    return best;
}
/* From vertex to better neighbour: on a convex hull that ends at the best of all.  Bounded, for
 * lists that are no hull's. */
static int climb(const soa_shape *shape, const double d[3], int at) {
    const double *x = shape->vertices;
    const int *start = shape->neighbour_start, *next = shape->neighbours;
    double most = SOAI_DOT(x + 3 * at, d);
    for (int step = 0; step < shape->vertex_count; ++step) {
        int best = at;
        for (int k = start[at]; k < start[at + 1]; ++k) {
            const double s = SOAI_DOT(x + 3 * next[k], d);
            if (s > most) {
                most = s;
                best = next[k];
            }
        }
        if (best == at) return at;
        at = best;
    }
    return at;
}

void soai_support_point(const soa_shape *shape, int index, double x[3]) {
    switch (shape->type) {
    case SOA_SHAPE_CAPSULE:
        x[0] = x[1] = 0;
        x[2] = index ? shape->half[2] : -shape->half[2];
        break;
    case SOA_SHAPE_BOX:
        for (int i = 0; i < 3; ++i)
            x[i] = index >> i & 1 ? shape->half[i] : -shape->half[i];
        break;
    case SOA_SHAPE_POLYTOPE: memcpy(x, shape->vertices + 3 * index, 3 * sizeof *x); break;
    default: x[0] = x[1] = x[2] = 0;
    }
}

void soai_shape_support(const soa_shape *shape, const double d[3], double x[3], int *index) {
    switch (shape->type) {
    case SOA_SHAPE_CAPSULE: *index = d[2] > 0; break;
    case SOA_SHAPE_BOX: *index = (d[0] > 0) | (d[1] > 0) << 1 | (d[2] > 0) << 2; break;
    case SOA_SHAPE_POLYTOPE:
        *index = shape->neighbours && shape->vertex_count > SCAN_MOST
                     ? climb(shape, d, *index)
                     : scan(shape->vertices, shape->vertex_count, d);
        break;
    case SOA_SHAPE_CYLINDER: {
        const double r = sqrt(d[0] * d[0] + d[1] * d[1]), s = r > 0 ? shape->half[0] / r : 0;
        x[0] = s * d[0];
        x[1] = s * d[1];
        x[2] = d[2] > 0 ? shape->half[2] : -shape->half[2];
        *index = -1;
        return;
    }
    default: *index = 0;
    }
    soai_support_point(shape, *index, x);
}

void soai_pair_support(soai_pair *pair, const double v[3], soai_vertex *out) {
    double d[3], x[3];
    for (int i = 0; i < 3; ++i)
        d[i] = -v[i];
    soai_shape_support(pair->a, d, out->a, &pair->hint_a);
    soai_turn_back(pair->R, v, d);
    soai_shape_support(pair->b, d, x, &pair->hint_b);
    soai_turn(pair->R, x, out->b);
    for (int i = 0; i < 3; ++i) {
        out->b[i] += pair->p[i];
        out->w[i] = out->a[i] - out->b[i];
    }
    out->ia = pair->hint_a;
    out->ib = pair->hint_b;
}

/* ---- enclosing box --------------------------------------------------------------------------- */
soa_status soa_shape_bounds(const soa_shape *shape, const soa_frame *pose, double margin,
                            soa_bounds *bounds) {
    if (!shape || !pose || !bounds || (unsigned)shape->type >= SOA_SHAPE_TYPE_COUNT)
        return SOA_E_ARGUMENT;
    if (!soai_all_finite(pose->R, 9) || !soai_all_finite(pose->p, 3) || !isfinite(margin))
        return SOA_E_NOT_FINITE;
    soa_bounds out;
    const double far = 1e300; /* a half space has no end, but where its normal is an axis */
    if (shape->type == SOA_SHAPE_PLANE) {
        for (int i = 0; i < 3; ++i) {
            const double n = pose->R[3 * i + 2];
            out.high[i] = n == 1 ? pose->p[i] + margin : far;
            out.low[i] = n == -1 ? pose->p[i] - margin : -far;
        }
        *bounds = out;
        return SOA_OK;
    }
    if (shape->type == SOA_SHAPE_POLYTOPE) {
        if (shape->vertex_count < 1 || !shape->vertices) return SOA_E_ARGUMENT;
        for (int i = 0; i < 3; ++i) {
            const double *row = pose->R + 3 * i;
            double low = INFINITY, high = -INFINITY;
            for (int k = 0; k < shape->vertex_count; ++k) {
                const double s = SOAI_DOT(row, shape->vertices + 3 * k);
                if (s < low) low = s;
                if (s > high) high = s;
            }
            out.low[i] = low;
            out.high[i] = high;
        }
    } else {
        for (int i = 0; i < 3; ++i) {
            const double *row = pose->R + 3 * i, *half = shape->half;
            double reach = 0;
            if (shape->type == SOA_SHAPE_BOX)
                reach = fabs(row[0]) * half[0] + fabs(row[1]) * half[1];
            if (shape->type == SOA_SHAPE_CYLINDER)
                reach = sqrt(row[0] * row[0] + row[1] * row[1]) * half[0];
            if (shape->type != SOA_SHAPE_SPHERE) reach += fabs(row[2]) * half[2];
            out.low[i] = -reach;
            out.high[i] = reach;
        }
    }
    const double more = margin + shape->radius;
    for (int i = 0; i < 3; ++i) {
        out.low[i] += pose->p[i] - more;
        out.high[i] += pose->p[i] + more;
    }
    if (!soai_all_finite(out.low, 3) || !soai_all_finite(out.high, 3)) return SOA_E_NOT_FINITE;
    *bounds = out;
    return SOA_OK;
}
