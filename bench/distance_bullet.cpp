// distance_bullet.cpp  Bullet in double precision: btGjkPairDetector and btGjkEpaSolver2 on
// btConvexHullShape.
#include "distance_peer.h"

#include <BulletCollision/CollisionShapes/btConvexHullShape.h>
#include <BulletCollision/NarrowPhaseCollision/btGjkEpa2.h>
#include <BulletCollision/NarrowPhaseCollision/btGjkEpaPenetrationDepthSolver.h>
#include <BulletCollision/NarrowPhaseCollision/btGjkPairDetector.h>
#include <BulletCollision/NarrowPhaseCollision/btPointCollector.h>
#include <BulletCollision/NarrowPhaseCollision/btVoronoiSimplexSolver.h>
#include <memory>
#include <vector>

namespace {
std::unique_ptr<btConvexHullShape> hull(const soa_shape *s) {
    auto h = std::make_unique<btConvexHullShape>();
    for (int i = 0; i < s->vertex_count; ++i)
        h->addPoint(btVector3(s->vertices[3 * i], s->vertices[3 * i + 1], s->vertices[3 * i + 2]),
                    false);
    h->recalcLocalAabb();
    h->setMargin(0);
    return h;
}
btTransform transform(const soa_frame *f) {
    const double *R = f->R;
    return btTransform(btMatrix3x3(R[0], R[1], R[2], R[3], R[4], R[5], R[6], R[7], R[8]),
                       btVector3(f->p[0], f->p[1], f->p[2]));
}
struct pair {
    std::unique_ptr<btConvexHullShape> a, b;
    btVoronoiSimplexSolver simplex;
    btGjkEpaPenetrationDepthSolver depth;
    btGjkPairDetector detector;
    std::vector<btDiscreteCollisionDetectorInterface::ClosestPointInput> at;
    btVector3 guess = btVector3(1, 0, 0);
    pair(const soa_shape *sa, const soa_shape *sb, int places)
        : a(hull(sa)), b(hull(sb)), detector(a.get(), b.get(), &simplex, &depth),
          at(size_t(places)) {}
};
void *open(const soa_shape *a, const soa_shape *b, int places) {
    return new pair(a, b, places);
}
void place(void *p, int at, const soa_frame *a, const soa_frame *b) {
    auto &in = static_cast<pair *>(p)->at[size_t(at)];
    in.m_transformA = transform(a);
    in.m_transformB = transform(b);
}
double gjk(void *p, int at, int warm) {
    auto *q = static_cast<pair *>(p);
    btPointCollector out;
    if (!warm) q->detector.setCachedSeparatingAxis(btVector3(0, 1, 0));
    q->detector.getClosestPoints(q->at[size_t(at)], out, nullptr);
    return out.m_distance;
}
double epa2(void *p, int at, int warm) {
    auto *q = static_cast<pair *>(p);
    btGjkEpaSolver2::sResults r;
    const auto &in = q->at[size_t(at)];
    if (!warm) q->guess = in.m_transformA.getOrigin() - in.m_transformB.getOrigin();
    btGjkEpaSolver2::Distance(q->a.get(), in.m_transformA, q->b.get(), in.m_transformB, q->guess,
                              r);
    q->guess = r.normal;
    return r.distance;
}
void close(void *p) {
    delete static_cast<pair *>(p);
}
const distance_peer peers[] = {{"Bullet GjkPairDetector", 1, open, place, gjk, close},
                               {"Bullet GjkEpa2", 1, open, place, epa2, close}};
} // namespace
extern "C" __attribute__((visibility("default"))) const distance_peer *soa_distance_peer(int i) {
    return i < 2 ? &peers[i] : nullptr;
}
