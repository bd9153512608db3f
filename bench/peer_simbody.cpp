// peer_simbody.cpp  Simbody as a peer: Pin, Slider, Ball and Free mobilizers.
//
// fd    System::realize(Acceleration), or realize and calcAccelerationIgnoringConstraints
// id    realize(Velocity) and calcResidualForceIgnoringConstraints
// mass  realize(Position) and calcM
//
// Ball and Free speeds are measured in the mobilizer's inboard frame, ours in the body's.
#include "peer.h"

#include <Simbody.h>
#include <cstdio>
#include <exception>
#include <memory>
#include <vector>

namespace {

using namespace SimTK;

struct Loaded {
    Vector q, u, udot, tau;
    std::vector<peer_block> block;
};

struct Peer {
    MultibodySystem system;
    SimbodyMatterSubsystem matter{system};
    GeneralForceSubsystem forces{system};
    Force::Gravity gravity;
    Force::DiscreteForces applied{forces, matter};
    State state;
    std::vector<soa_body_info> body;
    std::vector<MobilizedBodyIndex> mobod;
    std::vector<Loaded> states;
    Vector answer;
    Vector_<SpatialVec> accelerations;
    Vector no_mobility_forces;
    Matrix M;
    int nv = 0;
    explicit Peer(const double g[3]) : gravity(forces, matter, Vec3(g[0], g[1], g[2])) {}
};

Vec3 vec(const double *x) {
    return Vec3(x[0], x[1], x[2]);
}
Rotation rotation(const double *R) {
    return Rotation(Mat33(R[0], R[1], R[2], R[3], R[4], R[5], R[6], R[7], R[8]), true);
}

// Builds the bodies and joints. Returns nullptr with a reason if a joint has no counterpart.
std::unique_ptr<Peer> build(const peer_model *model, char *why, size_t size) {
    auto p = std::make_unique<Peer>(model->gravity);
    p->matter.setShowDefaultGeometry(false);
    p->body.assign(model->body, model->body + model->bodies + 1);
    p->mobod.resize(p->body.size());
    p->mobod[0] = p->matter.Ground().getMobilizedBodyIndex();
    for (size_t i = 1; i < p->body.size(); ++i) {
        const soa_body_info &b = p->body[i];
        const double *I = b.inertia;
        Inertia about_com(I[0], I[1], I[2], I[3], I[4], I[5]);
        Body::Rigid rigid(
            MassProperties(b.mass, vec(b.com), about_com.shiftFromMassCenter(vec(b.com), b.mass)));
        MobilizedBody &parent = p->matter.updMobilizedBody(p->mobod[static_cast<size_t>(b.parent)]);
        Transform place(rotation(b.placement.R), vec(b.placement.p));
        double R[9];
        if (b.type == SOA_REVOLUTE) { // Pin turns about z, Slider moves along x
            peer_axis_frame(b.axis, 2, R);
            Transform turn(rotation(R));
            p->mobod[i] = MobilizedBody::Pin(parent, place * turn, rigid, turn);
        } else if (b.type == SOA_PRISMATIC) {
            peer_axis_frame(b.axis, 0, R);
            Transform turn(rotation(R));
            p->mobod[i] = MobilizedBody::Slider(parent, place * turn, rigid, turn);
        } else if (b.type == SOA_SPHERICAL)
            p->mobod[i] = MobilizedBody::Ball(parent, place, rigid, Transform());
        else if (b.type == SOA_FREE)
            p->mobod[i] = MobilizedBody::Free(parent, place, rigid, Transform());
        else {
            std::snprintf(why, size, "joint type not translated for Simbody");
            return nullptr;
        }
    }
    return p;
}

void *open_or_throw(const peer_model *model, int states, char *why, size_t size) {
    auto p = build(model, why, size);
    if (!p) return nullptr;
    p->state = p->system.realizeTopology();
    p->system.realizeModel(p->state);
    p->nv = model->nv;
    p->no_mobility_forces.resize(p->nv);
    p->no_mobility_forces = 0;
    p->states.resize(static_cast<size_t>(states));
    return p.release();
}

void *open(const peer_model *model, int states, char *why, size_t size) {
    try {
        return open_or_throw(model, states, why, size);
    } catch (const std::exception &e) {
        std::snprintf(why, size, "%s", e.what());
        return nullptr;
    }
}

void close(void *peer) {
    delete static_cast<Peer *>(peer);
}

void load(void *peer, int state, const double *q, const double *v, const double *a,
          const double *tau) {
    Peer &p = *static_cast<Peer *>(peer);
    Loaded &s = p.states[static_cast<size_t>(state)];
    s.q.resize(p.state.getNQ());
    s.q = 0;
    s.u.resize(p.nv), s.udot.resize(p.nv), s.tau.resize(p.nv);
    s.block.resize(p.body.size() - 1);
    for (size_t i = 1; i < p.body.size(); ++i) {
        const soa_body_info &b = p.body[i];
        const MobilizedBody &m = p.matter.getMobilizedBody(p.mobod[i]);
        int q_at = m.getFirstQIndex(p.state), u_at = m.getFirstUIndex(p.state);
        peer_block &block = s.block[i - 1];
        peer_block_plain(&block, b.v_index, u_at, b.nv);
        const double *qi = q + b.q_index;
        if (b.type == SOA_FREE || b.type == SOA_SPHERICAL) {
            const double *quat = b.type == SOA_FREE ? qi + 3 : qi;
            double R[9];
            peer_rotation(quat, R);
            for (int k = 0; k < 4; ++k)
                s.q[q_at + k] = quat[k];
            peer_block_set(&block, 0, 0, R);
            if (b.type == SOA_FREE) {
                const double *w = v + b.v_index;
                double t[3];
                for (int k = 0; k < 3; ++k)
                    s.q[q_at + 4 + k] = qi[k];
                peer_block_set(&block, 3, 3, R);
                peer_cross(w, w + 3, t);
                peer_mul(R, t, block.c + 3);
            }
        } else
            s.q[q_at] = qi[0];
    }
    int count = static_cast<int>(s.block.size());
    peer_velocity_to(s.block.data(), count, v, &s.u[0], 0);
    peer_velocity_to(s.block.data(), count, a, &s.udot[0], 1);
    peer_force_to(s.block.data(), count, tau, &s.tau[0]);
}

const char *way(void *, peer_fn fn, int way) {
    if (fn == PEER_FD)
        return way == 0 ? "calcAcceleration" : way == 1 ? "realize(Acceleration)" : nullptr;
    if (way > 0 || fn > PEER_MASS) return nullptr;
    return fn == PEER_ID ? "calcResidualForce" : "calcM";
}

void run(void *peer, peer_fn fn, int way, int state) {
    Peer &p = *static_cast<Peer *>(peer);
    const Loaded &s = p.states[static_cast<size_t>(state)];
    p.state.updQ() = s.q;
    if (fn == PEER_MASS) {
        p.system.realize(p.state, Stage::Position);
        p.matter.calcM(p.state, p.M);
        return;
    }
    p.state.updU() = s.u;
    if (fn == PEER_FD && way == 1) {
        p.applied.setAllMobilityForces(p.state, s.tau);
        p.system.realize(p.state, Stage::Acceleration);
        return;
    }
    p.system.realize(p.state, Stage::Velocity);
    const Vector_<SpatialVec> &weight = p.gravity.getBodyForces(p.state);
    if (fn == PEER_FD) {
        p.system.realize(p.state, Stage::Dynamics);
        p.matter.calcAccelerationIgnoringConstraints(p.state, s.tau, weight, p.answer,
                                                     p.accelerations);
    } else
        p.matter.calcResidualForceIgnoringConstraints(p.state, p.no_mobility_forces, weight, s.udot,
                                                      p.answer);
}

void fetch(void *peer, peer_fn fn, int way, int state, double *out) {
    Peer &p = *static_cast<Peer *>(peer);
    const Loaded &s = p.states[static_cast<size_t>(state)];
    int count = static_cast<int>(s.block.size());
    if (fn == PEER_FD && way == 1) p.answer = p.state.getUDot();
    if (fn == PEER_FD) peer_accel_from(s.block.data(), count, &p.answer[0], out);
    if (fn == PEER_ID) peer_force_from(s.block.data(), count, &p.answer[0], out);
    if (fn == PEER_MASS) peer_mass_from(s.block.data(), count, &p.M(0, 0), p.nv, out, p.nv);
}

} // namespace

extern "C" const peer_library *peer_get() {
    static char version[64];
    static const peer_library library = {"simbody", version, open, close, load, way, run, fetch};
    int major, minor, build;
    SimTK_version_simbody(&major, &minor, &build);
    std::snprintf(version, sizeof version, "Simbody %d.%d.%d", major, minor, build);
    return &library;
}
