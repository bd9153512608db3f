// distance_fcl.cpp  FCL: its own GJK and libccd's, on fcl::Convex with faces.
#include "distance_peer.h"

#include <fcl/geometry/shape/convex.h>
#include <fcl/narrowphase/detail/gjk_solver_indep.h>
#include <fcl/narrowphase/detail/gjk_solver_libccd.h>
#include <memory>
#include <vector>

namespace {
using convex = fcl::Convex<double>;
using transform = fcl::Transform3<double>;
std::unique_ptr<convex> hull(const soa_shape *s) {
    auto vertices = std::make_shared<std::vector<fcl::Vector3<double>>>();
    auto faces = std::make_shared<std::vector<int>>();
    for (int i = 0; i < s->vertex_count; ++i)
        vertices->emplace_back(s->vertices[3 * i], s->vertices[3 * i + 1], s->vertices[3 * i + 2]);
    for (int f = 0; f < s->face_count; ++f) {
        faces->push_back(s->face_start[f + 1] - s->face_start[f]);
        for (int k = s->face_start[f]; k < s->face_start[f + 1]; ++k)
            faces->push_back(s->faces[k]);
    }
    return std::unique_ptr<convex>(new convex(vertices, s->face_count, faces, true));
}
transform pose(const soa_frame *f) {
    transform t = transform::Identity();
    for (int i = 0; i < 3; ++i) {
        for (int j = 0; j < 3; ++j)
            t.linear()(i, j) = f->R[3 * i + j];
        t.translation()[i] = f->p[i];
    }
    return t;
}
struct pair {
    std::unique_ptr<convex> a, b;
    std::vector<transform> A, B;
    fcl::detail::GJKSolver_indep<double> own;
    fcl::detail::GJKSolver_libccd<double> ccd;
};
void *open(const soa_shape *a, const soa_shape *b, int places) {
    auto *p = new pair;
    p->a = hull(a), p->b = hull(b);
    p->A.resize(size_t(places)), p->B.resize(size_t(places));
    return p;
}
void place(void *q, int at, const soa_frame *a, const soa_frame *b) {
    auto *p = static_cast<pair *>(q);
    p->A[size_t(at)] = pose(a), p->B[size_t(at)] = pose(b);
}
double own(void *q, int at, int warm) {
    auto *p = static_cast<pair *>(q);
    double d = 0;
    fcl::Vector3<double> x, y;
    p->own.enable_cached_guess = warm != 0;
    p->own.shapeDistance(*p->a, p->A[size_t(at)], *p->b, p->B[size_t(at)], &d, &x, &y);
    return d;
}
double ccd(void *q, int at, int) {
    auto *p = static_cast<pair *>(q);
    double d = 0;
    fcl::Vector3<double> x, y;
    p->ccd.shapeDistance(*p->a, p->A[size_t(at)], *p->b, p->B[size_t(at)], &d, &x, &y);
    return d;
}
void close(void *q) {
    delete static_cast<pair *>(q);
}
const distance_peer peers[] = {{"FCL own GJK", 1, open, place, own, close},
                               {"FCL libccd", 0, open, place, ccd, close}};
} // namespace
extern "C" __attribute__((visibility("default"))) const distance_peer *soa_distance_peer(int i) {
    return i < 2 ? &peers[i] : nullptr;
}
