/* hull.c  convex hulls for soa_shape: of points (qhull), of meshes in files (assimp).
 *
 * The hull comes with what the searches use: vertices without the inner points, the edges for hill
 * climbing, the faces for patches, all in one block that begins with the vertices.  Faces of more
 * than three corners stay whole.  Input that qhull refuses is done here: points in a plane (a
 * polygon with two sides), on a line (its ends), in one place. "In a plane" is a thickness below
 * 1e-12 of the extent. */
#include "soa/io.h"
#include "../base/base_internal.h"
#include "mesh.h"

#include <libqhull_r/qhull_ra.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define SUB(a, b) \
    { (a)[0] - (b)[0], (a)[1] - (b)[1], (a)[2] - (b)[2] }
#define DOT(a, b) ((a)[0] * (b)[0] + (a)[1] * (b)[1] + (a)[2] * (b)[2])
static const double FLAT = 1e-12;

/* ---- one block ------------------------------------------------------------------------------- */
/* Faces over the caller's points (corners: their numbers) become a shape; two corners: an edge
 * alone. */
typedef struct faces {
    int count, room, corner_count, corner_room;
    int *start, *corner;
} faces;

static int grow(int **list, int *room, int needed) {
    if (needed <= *room) return 1;
    const int more = 2 * needed + 16;
    int *p = realloc(*list, (size_t)more * sizeof *p);
    if (!p) return 0;
    *list = p;
    *room = more;
    return 1;
}
static int add_corner(faces *f, int point) {
    if (!grow(&f->corner, &f->corner_room, f->corner_count + 1)) return 0;
    f->corner[f->corner_count++] = point;
    return 1;
}
static int end_face(faces *f) {
    if (!grow(&f->start, &f->room, f->count + 2)) return 0;
    if (!f->count) f->start[0] = 0;
    f->start[++f->count] = f->corner_count;
    return 1;
}

static soa_status build(const double *points, int count, const faces *f, soa_shape *hull,
                        soa_report *report) {
    int *number = malloc((size_t)count * sizeof *number), vertices = 0;
    if (!number)
        return soai_report(report, SOA_E_MEMORY, -1, 0, "no memory for a hull of %d points", count);
    for (int i = 0; i < count; ++i)
        number[i] = -1;
    for (int k = 0; k < f->corner_count; ++k)
        if (number[f->corner[k]] < 0) number[f->corner[k]] = vertices++;
    /* every edge is met twice, once each way, by the two faces beside it; a lone edge from both its
     * ends */
    const size_t x = 3 * (size_t)vertices * sizeof(double),
                 start = ((size_t)vertices + 1) * sizeof(int),
                 list = (size_t)f->corner_count * sizeof(int),
                 face_start = ((size_t)f->count + 1) * sizeof(int);
    char *block = malloc(x + start + list + face_start + list);
    if (!block) {
        free(number);
        return soai_report(report, SOA_E_MEMORY, -1, 0, "no memory for a hull of %d vertices",
                           vertices);
    }
    double *v = (double *)(void *)block;
    int *ns = (int *)(void *)(block + x), *nb = ns + vertices + 1, *fs = nb + f->corner_count,
        *fc = fs + f->count + 1;
    for (int i = 0; i < count; ++i)
        if (number[i] >= 0) memcpy(v + 3 * number[i], points + 3 * (size_t)i, 3 * sizeof *v);
    memset(ns, 0, start);
    for (int k = 0; k < f->corner_count; ++k)
        ++ns[number[f->corner[k]] + 1]; /* faces at a vertex = edges at it */
    for (int i = 0; i < vertices; ++i)
        ns[i + 1] += ns[i];
    for (int k = 0; k <= f->count; ++k)
        fs[k] = f->start[k];
    for (int k = 0; k < f->count; ++k)
        for (int m = fs[k]; m < fs[k + 1]; ++m) {
            const int here = number[f->corner[m]],
                      next = number[f->corner[m + 1 < fs[k + 1] ? m + 1 : fs[k]]];
            fc[m] = here;
            nb[ns[here]++] = next;
        }
    for (int i = vertices; i > 0; --i)
        ns[i] = ns[i - 1]; /* filling moved each start to the next one's */
    ns[0] = 0;
    free(number);
    soa_shape out = {.type = SOA_SHAPE_POLYTOPE, .vertex_count = vertices, .vertices = v};
    if (vertices > 1) {
        out.neighbour_start = ns;
        out.neighbours = nb;
    }
    if (vertices > 2) {
        out.face_count = f->count;
        out.face_start = fs;
        out.faces = fc;
    }
    *hull = out;
    return SOA_OK;
}

/* ---- points in a plane or on a line ---------------------------------------------------------- */
static int farthest(const double *points, int count, const double from[3], const double n[3],
                    int mode, double *most) {
    int best = 0;
    *most = -1;
    /* mode 0: from a point; 1: from a line along n; 2: from a plane square to n */
    for (int i = 0; i < count; ++i) {
        const double e[3] = SUB(points + 3 * (size_t)i, from), along = mode ? DOT(e, n) : 0;
        const double c[3] = {e[0] - along * n[0], e[1] - along * n[1], e[2] - along * n[2]};
        const double d = mode == 2 ? fabs(along) : sqrt(DOT(c, c));
        if (d > *most) {
            *most = d;
            best = i;
        }
    }
    return best;
}

typedef struct flat_point {
    double u, v;
    int point;
} flat_point;
static int by_place(const void *a, const void *b) {
    const flat_point *p = a, *q = b;
    if (p->u != q->u) return p->u < q->u ? -1 : 1;
    return (p->v > q->v) - (p->v < q->v);
}
static double left_of(const flat_point *a, const flat_point *b, const flat_point *c) {
    return (b->u - a->u) * (c->v - a->v) - (b->v - a->v) * (c->u - a->u);
}
/* Andrew's chains: the polygon, counter-clockwise seen along -n, as two faces. */
static int polygon(const double *points, int count, const double o[3], const double s[3],
                   const double t[3], faces *f) {
    flat_point *p = malloc((size_t)count * sizeof *p),
               *c = malloc((2 * (size_t)count + 1) * sizeof *c);
    int ok = p && c, corners = 0;
    for (int i = 0; ok && i < count; ++i) {
        const double e[3] = SUB(points + 3 * (size_t)i, o);
        p[i] = (flat_point){DOT(e, s), DOT(e, t), i};
    }
    if (ok) qsort(p, (size_t)count, sizeof *p, by_place);
    for (int pass = 0, floor = 1; ok && pass < 2; ++pass, floor = corners)
        for (int i = pass; i < count; ++i) {
            const flat_point *q = pass ? &p[count - 1 - i] : &p[i];
            while (corners > floor && left_of(&c[corners - 2], &c[corners - 1], q) <= 0)
                --corners;
            c[corners++] = *q;
        }
    --corners; /* the first again */
    for (int side = 0; ok && side < 2; ++side) {
        for (int k = 0; ok && k < corners; ++k)
            ok = add_corner(f, c[side ? corners - 1 - k : k].point);
        ok = ok && end_face(f);
    }
    free(p);
    free(c);
    return ok;
}

/* ---- qhull ----------------------------------------------------------------------------------- */
/* Faces of the hull of the points; 0: qhull gave up, *code says why (0: no memory). */
static int by_qhull(const double *points, int count, const double centre[3], faces *f, int *code) {
    *code = 0;
    /* about their centre, where rounding is least */
    coordT *x = malloc(3 * (size_t)count * sizeof *x);
    if (!x) return 0;
    for (int i = 0; i < count; ++i)
        for (int k = 0; k < 3; ++k)
            x[3 * (size_t)i + (size_t)k] = points[3 * (size_t)i + (size_t)k] - centre[k];
    FILE *nowhere = fopen("/dev/null", "w");
    if (!nowhere) nowhere = tmpfile();
    qhT state, *qh = &state;
    char options[] = "qhull Pp";
    qh_zero(qh, nowhere);
    *code = qh_new_qhull(qh, 3, count, x, False, options, nowhere, nowhere);
    int ok = !*code;
    if (ok) {
        facetT *facet;
        FORALLfacets {
            setT *ring = qh_facet3vertex(qh, facet); /* in order around the facet */
            vertexT *vertex, **vertexp;
            const int first = f->corner_count;
            double n[3] = {0};
            FOREACHvertex_ (ring)
                ok = ok && add_corner(f, qh_pointid(qh, vertex->point));
            for (int k = first + 1; ok && k + 1 < f->corner_count; ++k) {
                const double *o = points + 3 * (size_t)f->corner[first],
                             *a = points + 3 * (size_t)f->corner[k],
                             *b = points + 3 * (size_t)f->corner[k + 1];
                const double u[3] = SUB(a, o), v[3] = SUB(b, o);
                n[0] += u[1] * v[2] - u[2] * v[1];
                n[1] += u[2] * v[0] - u[0] * v[2];
                n[2] += u[0] * v[1] - u[1] * v[0];
            }
            if (DOT(n, facet->normal) < 0)
                for (int a = first, b = f->corner_count - 1; a < b; ++a, --b) {
                    const int c = f->corner[a];
                    f->corner[a] = f->corner[b];
                    f->corner[b] = c;
                }
            qh_settempfree(qh, &ring);
            ok = ok && end_face(f);
        }
    }
    int left, total;
    qh_freeqhull(qh, !qh_ALL);
    qh_memfreeshort(qh, &left, &total);
    if (nowhere) fclose(nowhere);
    free(x);
    return ok;
}

soa_status soa_hull_from_points(const double *points, int count, soa_shape *hull,
                                soa_report *report) {
    soai_report_reset(report);
    if (!hull || (count > 0 && !points))
        return soai_report(report, SOA_E_ARGUMENT, -1, 0, "no points or no place for the hull");
    if (count < 1 || count > 100000000)
        return soai_report(report, SOA_E_ARGUMENT, -1, 0, "a hull of %d points", count);
    double low[3], high[3], centre[3], extent;
    for (int i = 0; i < count; ++i)
        for (int k = 0; k < 3; ++k) {
            const double x = points[3 * (size_t)i + (size_t)k];
            if (!(fabs(x) < 1e150))
                return soai_report(report, SOA_E_NOT_FINITE, -1, 0,
                                   "point %d is not finite numbers", i);
            if (!i || x < low[k]) low[k] = x;
            if (!i || x > high[k]) high[k] = x;
        }
    for (int k = 0; k < 3; ++k)
        centre[k] = 0.5 * (low[k] + high[k]);

    faces f = {0};
    int ok = 0, code = 0;
    double most, n[3], s[3] = {0}, t[3] = {0};
    const int a = farthest(points, count, centre, s, 0, &most);
    const double *pa = points + 3 * (size_t)a;
    const int b = farthest(points, count, pa, s, 0, &extent);
    if (!(extent > 0)) {
        ok = add_corner(&f, a) && end_face(&f);
    } else {
        const double e[3] = SUB(points + 3 * (size_t)b, pa);
        for (int k = 0; k < 3; ++k)
            s[k] = e[k] / extent;
        const int c = farthest(points, count, pa, s, 1, &most);
        if (!(most > FLAT * extent)) {
            ok = add_corner(&f, a) && add_corner(&f, b) && end_face(&f);
        } else {
            const double g[3] = SUB(points + 3 * (size_t)c, pa), along = DOT(g, s);
            for (int k = 0; k < 3; ++k)
                t[k] = (g[k] - along * s[k]) / most;
            n[0] = s[1] * t[2] - s[2] * t[1];
            n[1] = s[2] * t[0] - s[0] * t[2];
            n[2] = s[0] * t[1] - s[1] * t[0];
            farthest(points, count, pa, n, 2, &most);
            ok = most > FLAT * extent ? by_qhull(points, count, centre, &f, &code)
                                      : polygon(points, count, pa, s, t, &f);
        }
    }
    soa_status status;
    if (ok) {
        status = build(points, count, &f, hull, report);
    } else if (code) {
        status = soai_report(report, SOA_E_FORMAT, -1, 0,
                             "qhull finds no hull of these %d points (its error %d)", count, code);
    } else {
        status =
            soai_report(report, SOA_E_MEMORY, -1, 0, "no memory for a hull of %d points", count);
    }
    free(f.start);
    free(f.corner);
    return soai_report_end(report, status);
}

void soa_hull_free(soa_shape *hull) {
    if (!hull) return;
    free((void *)(uintptr_t)hull->vertices);
    *hull = (soa_shape){.type = SOA_SHAPE_POLYTOPE};
}

soa_status soa_hull_from_mesh(const char *path, const double scale[3], soa_shape *hull,
                              soa_report *report) {
    soa_report inner;
    if (!report) report = &inner;
    soai_report_reset(report);
    if (!path || !hull)
        return soai_report(report, SOA_E_ARGUMENT, -1, 0, "no path or no place for the hull");
    for (int k = 0; scale && k < 3; ++k)
        if (!isfinite(scale[k]) || scale[k] == 0)
            return soai_report(report, SOA_E_ARGUMENT, -1, 0, "the mesh's scale %g is not usable",
                               scale[k]);
    const struct aiScene *scene = soai_mesh_open(path, 0, report);
    if (!scene) return soai_report_end(report, report->status);
    size_t count = 0;
    for (unsigned m = 0; m < scene->mNumMeshes; ++m)
        count += scene->mMeshes[m]->mNumVertices;
    double *x = count && count < 100000000 ? malloc(3 * count * sizeof *x) : NULL;
    soa_status status;
    if (!count) {
        status = soai_report(report, SOA_E_FORMAT, -1, 0, "%.180s: the mesh has no vertices", path);
    } else if (!x) {
        status = soai_report(report, SOA_E_MEMORY, -1, 0, "%.120s: no memory for %zu vertices",
                             path, count);
    } else {
        size_t at = 0;
        for (unsigned m = 0; m < scene->mNumMeshes; ++m)
            for (unsigned k = 0; k < scene->mMeshes[m]->mNumVertices; ++k) {
                const struct aiVector3D *v = &scene->mMeshes[m]->mVertices[k];
                x[at++] = (double)v->x * (scale ? scale[0] : 1);
                x[at++] = (double)v->y * (scale ? scale[1] : 1);
                x[at++] = (double)v->z * (scale ? scale[2] : 1);
            }
        status = soa_hull_from_points(x, (int)count, hull, report);
    }
    free(x);
    aiReleaseImport(scene);
    return soai_report_end(report, status);
}
