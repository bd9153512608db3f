// peer_bullet.cpp  Bullet in double precision as a peer.
//
// fd    btMultiBody::computeAccelerationsArticulatedBodyAlgorithmMultiDof, without a world
// id    MultiBodyTree::calculateInverseDynamics of BulletInverseDynamics
// mass  MultiBodyTree::calculateMassMatrix
//
// A free joint is Bullet's floating base, so only the single root may have one. The frames of
// btMultiBody's links are at the centre of mass, in principal axes.
#include "peer.h"

#include <BulletDynamics/Featherstone/btMultiBody.h>
#include <LinearMath/btMatrixX.h>
#include <cmath>
#include <cstdio>
#include <memory>
#include <vector>

#if SOA_BENCH_BULLET_ID
// Debian ships the library but not its .hpp headers: this is the part of the interface used here.
namespace btInverseDynamicsBullet3 {
enum JointType { FIXED, REVOLUTE, PRISMATIC, FLOATING };
struct vec3 : btVector3 {
    vec3() = default;
    vec3(const btVector3 &x) : btVector3(x) {}
};
struct mat33 : btMatrix3x3 {
    mat33() = default;
    mat33(const btMatrix3x3 &x) : btMatrix3x3(x) {}
};
class vecx : public btVectorX<double> {
  public:
    explicit vecx(int size) : btVectorX<double>(size) {}
};
class MultiBodyTree {
  public:
    MultiBodyTree();
    ~MultiBodyTree();
    int addBody(int body, int parent, JointType type, const vec3 &parent_to_body,
                const mat33 &body_from_parent, const vec3 &axis, double mass, const vec3 &com,
                const mat33 &inertia, int user, void *user_ptr);
    int finalize();
    int setGravityInWorldFrame(const vec3 &gravity);
    int calculateInverseDynamics(const vecx &q, const vecx &u, const vecx &dot_u, vecx *forces);
    int calculateMassMatrix(const vecx &q, bool update_kinematics, bool initialize, bool lower,
                            btMatrixX<double> *M);

  private:
    void *hidden[16];
};
} // namespace btInverseDynamicsBullet3
namespace id = btInverseDynamicsBullet3;
#endif

namespace {

struct State {
    std::vector<double> q, v, tau; // links in order, after the base
    btQuaternion base_rotation;    // world to base
    btVector3 base_position, base_omega, base_velocity, base_torque, base_force;
    peer_block base_fd, base_id;
#if SOA_BENCH_BULLET_ID
    id::vecx id_q{0}, id_v{0}, id_a{0};
#endif
};

struct Principal {
    double moments[3], Q[9];
};

struct Peer {
    const peer_model *model = nullptr;
    std::vector<soa_body_info> body;
    bool floating = false;
    int first = 1; // body that is link 0
    std::vector<Principal> principal;
    std::unique_ptr<btMultiBody> multi;
    btAlignedObjectArray<btScalar> scratch_r;
    btAlignedObjectArray<btVector3> scratch_v;
    btAlignedObjectArray<btMatrix3x3> scratch_m;
    std::vector<State> states;
    double gravity[3] = {0, 0, 0};
    int nv = 0, links = 0;
#if SOA_BENCH_BULLET_ID
    id::MultiBodyTree tree;
    id::vecx forces{0};
    btMatrixX<double> M;
#endif
};

btVector3 vector(const double *x) {
    return btVector3(x[0], x[1], x[2]);
}
btQuaternion quaternion(const double *R) {
    double q[4];
    peer_quaternion(R, q);
    return btQuaternion(q[1], q[2], q[3], q[0]);
}

bool usable(Peer &p, const peer_model *model, char *why, size_t size) {
    int roots = 0;
    for (int i = 1; i <= model->bodies; ++i) {
        const soa_body_info &b = model->body[i];
        roots += b.parent == 0;
        if (b.type == SOA_FREE && i == 1)
            p.floating = true;
        else if (b.type != SOA_REVOLUTE && b.type != SOA_PRISMATIC) {
            std::snprintf(why, size, "revolute, prismatic and one floating base only");
            return false;
        }
    }
    if (p.floating && roots > 1) {
        std::snprintf(why, size, "a floating base must be the only root");
        return false;
    }
    return true;
}

void build_multi(Peer &p) {
    const double one[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1}, zero[3] = {0, 0, 0};
    const Principal &root = p.principal[1];
    p.multi.reset(new btMultiBody(p.links, p.floating ? p.body[1].mass : 0,
                                  p.floating ? vector(root.moments) : btVector3(0, 0, 0),
                                  !p.floating, false));
    p.multi->setLinearDamping(0);
    p.multi->setAngularDamping(0);
    for (int i = p.first; i < static_cast<int>(p.body.size()); ++i) {
        const soa_body_info &b = p.body[static_cast<size_t>(i)];
        bool on_base = b.parent == 0;
        const double *Qp = on_base ? one : p.principal[static_cast<size_t>(b.parent)].Q;
        const double *cp = on_base ? zero : p.body[static_cast<size_t>(b.parent)].com;
        const Principal &own = p.principal[static_cast<size_t>(i)];
        double R[9], t[9], axis[3], to_pivot[3], to_com[3];
        peer_transpose(own.Q, R);
        peer_transpose(b.placement.R, t);
        peer_matmul(R, t, R);
        peer_matmul(R, Qp, R); // parent axes to own axes
        peer_mul_t(own.Q, b.axis, axis);
        for (int k = 0; k < 3; ++k)
            to_pivot[k] = b.placement.p[k] - cp[k];
        peer_mul_t(Qp, to_pivot, to_pivot);
        peer_mul_t(own.Q, b.com, to_com);
        int parent = b.parent - p.first; // -1: the base
        if (b.type == SOA_REVOLUTE)
            p.multi->setupRevolute(i - p.first, b.mass, vector(own.moments), parent, quaternion(R),
                                   vector(axis), vector(to_pivot), vector(to_com), true);
        else
            p.multi->setupPrismatic(i - p.first, b.mass, vector(own.moments), parent, quaternion(R),
                                    vector(axis), vector(to_pivot), vector(to_com), true);
        p.multi->addLinkForce(i - p.first, b.mass * vector(p.gravity));
    }
    p.multi->finalizeMultiDof();
}

#if SOA_BENCH_BULLET_ID
btMatrix3x3 matrix(const double *R) {
    return btMatrix3x3(R[0], R[1], R[2], R[3], R[4], R[5], R[6], R[7], R[8]);
}

void build_tree(Peer &p) {
    int roots = 0;
    for (size_t i = 1; i < p.body.size(); ++i)
        roots += p.body[i].parent == 0;
    int shift = roots > 1 ? 0 : 1; // several roots are attached to a separate fixed body
    if (shift == 0)
        p.tree.addBody(0, -1, id::FIXED, btVector3(0, 0, 0), btMatrix3x3::getIdentity(),
                       btVector3(0, 0, 1), 1, btVector3(0, 0, 0), btMatrix3x3::getIdentity(), 0,
                       nullptr);
    for (int i = 1; i < static_cast<int>(p.body.size()); ++i) {
        const soa_body_info &b = p.body[static_cast<size_t>(i)];
        const double *c = b.com, *J = b.inertia, m = b.mass,
                     cc = c[0] * c[0] + c[1] * c[1] + c[2] * c[2];
        const double I[9] = {J[0] + m * (cc - c[0] * c[0]), J[3] - m * c[0] * c[1],
                             J[4] - m * c[0] * c[2],        J[3] - m * c[0] * c[1],
                             J[1] + m * (cc - c[1] * c[1]), J[5] - m * c[1] * c[2],
                             J[4] - m * c[0] * c[2],        J[5] - m * c[1] * c[2],
                             J[2] + m * (cc - c[2] * c[2])};
        id::JointType type = b.type == SOA_REVOLUTE    ? id::REVOLUTE
                             : b.type == SOA_PRISMATIC ? id::PRISMATIC
                                                       : id::FLOATING;
        p.tree.addBody(i - shift, b.parent - shift, type, vector(b.placement.p),
                       matrix(b.placement.R).transpose(), vector(b.axis), m, vector(c), matrix(I),
                       0, nullptr);
    }
    p.tree.finalize();
    p.tree.setGravityInWorldFrame(vector(p.gravity));
    p.forces.resize(p.nv);
    p.M.resize(p.nv, p.nv);
    p.M.setZero();
}
#endif

void *open(const peer_model *model, int states, char *why, size_t size) {
    auto p = std::make_unique<Peer>();
    if (!usable(*p, model, why, size)) return nullptr;
    p->body.assign(model->body, model->body + model->bodies + 1);
    p->nv = model->nv;
    p->first = p->floating ? 2 : 1;
    p->links = model->bodies + 1 - p->first;
    for (int k = 0; k < 3; ++k)
        p->gravity[k] = model->gravity[k];
    p->principal.resize(p->body.size());
    for (size_t i = 1; i < p->body.size(); ++i)
        peer_principal(p->body[i].inertia, p->principal[i].moments, p->principal[i].Q);
    build_multi(*p);
#if SOA_BENCH_BULLET_ID
    build_tree(*p);
#endif
    p->states.resize(static_cast<size_t>(states));
    return p.release();
}

void close(void *peer) {
    delete static_cast<Peer *>(peer);
}

// The base: world axes and the centre of mass in btMultiBody; body axes and the origin in
// MultiBodyTree, but with the classical acceleration.
void load_base(Peer &p, State &s, const double *q, const double *v, const double *tau,
               double *euler) {
    const soa_body_info &b = p.body[1];
    const Principal &own = p.principal[1];
    double R[9], RQ[9], x[3], t[3], f[6];
    peer_rotation(q + 3, R);
    peer_matmul(b.placement.R, R, R);
    peer_matmul(R, own.Q, RQ);
    peer_transpose(RQ, RQ);
    s.base_rotation = quaternion(RQ);
    peer_mul(b.placement.R, q, x);
    peer_mul(R, b.com, t);
    for (int k = 0; k < 3; ++k) {
        x[k] += b.placement.p[k];
        euler[3 + k] = x[k];
        x[k] += t[k];
    }
    s.base_position = vector(x);

    peer_block &B = s.base_fd;
    const double *c = b.com;
    const double minus_cx[9] = {0, c[2], -c[1], -c[2], 0, c[0], c[1], -c[0], 0};
    double cross[9];
    peer_block_plain(&B, 0, 0, 6);
    peer_block_set(&B, 0, 0, R);
    peer_matmul(R, minus_cx, cross);
    peer_block_set(&B, 3, 0, cross);
    peer_block_set(&B, 3, 3, R);
    peer_cross(v, c, t);
    for (int k = 0; k < 3; ++k)
        t[k] += v[3 + k];
    peer_cross(v, t, t);
    peer_mul(R, t, B.c + 3); // rate of R (v + w x c)
    peer_velocity_to(&B, 1, v, f, 0);
    s.base_omega = vector(f), s.base_velocity = vector(f + 3);
    peer_force_to(&B, 1, tau, f);
    s.base_torque = vector(f), s.base_force = vector(f + 3) + b.mass * vector(p.gravity);

    peer_block_plain(&s.base_id, 0, 0, 6);
    peer_cross(v, v + 3, s.base_id.c + 3);
    // R = Rx Ry Rz; the position follows, but the dynamics do not depend on it
    euler[1] = std::asin(R[2]);
    euler[0] = std::atan2(-R[5], R[8]);
    euler[2] = std::atan2(-R[1], R[0]);
}

void load(void *peer, int state, const double *q, const double *v, const double *a,
          const double *tau) {
    Peer &p = *static_cast<Peer *>(peer);
    State &s = p.states[static_cast<size_t>(state)];
    double euler[6] = {0, 0, 0, 0, 0, 0};
    int base_q = p.floating ? 7 : 0, base_v = p.floating ? 6 : 0;
    if (p.floating) load_base(p, s, q, v, tau, euler);
    size_t n = static_cast<size_t>(p.links);
    s.q.assign(q + base_q, q + base_q + n);
    s.v.assign(v + base_v, v + base_v + n);
    s.tau.assign(tau + base_v, tau + base_v + n);
#if SOA_BENCH_BULLET_ID
    s.id_q.resize(p.nv), s.id_v.resize(p.nv), s.id_a.resize(p.nv);
    for (int i = 0; i < p.nv; ++i) {
        s.id_q[i] = i < base_v ? euler[i] : q[i + base_q - base_v];
        s.id_v[i] = v[i];
        s.id_a[i] = a[i] + (i < base_v ? s.base_id.c[i] : 0);
    }
#else
    (void)a;
#endif
}

const char *way(void *, peer_fn fn, int way) {
    if (way > 0 || fn > PEER_MASS) return nullptr;
    if (fn == PEER_FD) return "btMultiBody";
#if SOA_BENCH_BULLET_ID
    return "MultiBodyTree";
#else
    return nullptr;
#endif
}

void run(void *peer, peer_fn fn, int, int state) {
    Peer &p = *static_cast<Peer *>(peer);
    State &s = p.states[static_cast<size_t>(state)];
#if SOA_BENCH_BULLET_ID
    if (fn == PEER_ID) {
        p.tree.calculateInverseDynamics(s.id_q, s.id_v, s.id_a, &p.forces);
        return;
    }
    if (fn == PEER_MASS) { // M was zeroed once, as the library advises
        p.tree.calculateMassMatrix(s.id_q, true, false, true, &p.M);
        return;
    }
#endif
    (void)fn;
    btMultiBody &m = *p.multi;
    if (p.floating) {
        m.setBasePos(s.base_position);
        m.setWorldToBaseRot(s.base_rotation);
        m.setBaseOmega(s.base_omega);
        m.setBaseVel(s.base_velocity);
        m.addBaseTorque(s.base_torque - m.getBaseTorque());
        m.addBaseForce(s.base_force - m.getBaseForce());
    }
    for (int i = 0; i < p.links; ++i) {
        size_t k = static_cast<size_t>(i);
        m.setJointPos(i, s.q[k]);
        m.setJointVel(i, s.v[k]);
        m.getLink(i).m_jointTorque[0] = s.tau[k]; // the link's weight stays in m_appliedForce
    }
    m.computeAccelerationsArticulatedBodyAlgorithmMultiDof(0, p.scratch_r, p.scratch_v, p.scratch_m,
                                                           false, false, false);
}

void fetch(void *peer, peer_fn fn, int, int state, double *out) {
    Peer &p = *static_cast<Peer *>(peer);
    const State &s = p.states[static_cast<size_t>(state)];
    int base = p.floating ? 6 : 0;
    if (fn == PEER_FD) { // the answer is in the scratch numbers: 6 for the base, then the joints
        const btScalar *answer = &p.scratch_r[p.multi->getNumDofs()];
        if (p.floating) peer_accel_from(&s.base_fd, 1, answer, out);
        for (int i = 0; i < p.links; ++i)
            out[base + i] = answer[6 + i];
    }
#if SOA_BENCH_BULLET_ID
    for (int i = 0; fn != PEER_FD && i < p.nv; ++i) {
        if (fn == PEER_ID) out[i] = p.forces[i];
        for (int j = 0; fn == PEER_MASS && j < p.nv; ++j)
            out[static_cast<size_t>(i) * static_cast<size_t>(p.nv) + static_cast<size_t>(j)] =
                p.M(i, j);
    }
#endif
}

} // namespace

extern "C" const peer_library *peer_get() {
    static char version[64];
    static const peer_library library = {"bullet", version, open, close, load, way, run, fetch};
    std::snprintf(version, sizeof version, "Bullet %d.%02d, double", btGetVersion() / 100,
                  btGetVersion() % 100);
    return &library;
}
