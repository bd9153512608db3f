// peer_pinocchio.cpp  Pinocchio 3 or later as a peer: its headers compiled here for this processor,
// with Eigen.  Built once by gcc and once by clang.
//
// fd              aba, in the axes of the bodies (local) or of the world
// id, bias        rnea, nonLinearEffects
// mass            crba, local or world: only the upper triangle is computed
// jacobian        computeFrameJacobian, or computeJointJacobians and getFrameJacobian
// derivatives     computeABADerivatives, computeRNEADerivatives; of symmetric results the upper
//                 triangle
#include "peer.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <memory>
#include <pinocchio/algorithm/aba-derivatives.hpp>
#include <pinocchio/algorithm/aba.hpp>
#include <pinocchio/algorithm/crba.hpp>
#include <pinocchio/algorithm/frames.hpp>
#include <pinocchio/algorithm/jacobian.hpp>
#include <pinocchio/algorithm/rnea-derivatives.hpp>
#include <pinocchio/algorithm/rnea.hpp>
#include <string>
#include <vector>

#ifdef __clang__
#define COMPILER "clang"
#else
#define COMPILER "gcc"
#endif
#define TEXT_OF(x) #x
#define TEXT(x) TEXT_OF(x)

namespace {

// Data has four arrays of nv^3 numbers, used or not: 0.26 GB at this size, 32 GB for 1,000 joints.
constexpr int MOST_NV = 200;

struct State {
    Eigen::VectorXd q, v, a, tau;
};

struct Peer {
    pinocchio::Model model;
    std::unique_ptr<pinocchio::Data> data;
    std::vector<soa_body_info> body;
    std::vector<pinocchio::JointIndex> joint; // of a body
    std::vector<Eigen::Index> place;          // of our velocity coordinates
    pinocchio::FrameIndex last = 0;           // frame of the last body
    std::vector<State> states;
    pinocchio::Data::Matrix6x J;
};

Eigen::Vector3d vec(const double *x) {
    return {x[0], x[1], x[2]};
}

// The joint along x, y or z that Pinocchio also chooses when it reads a file, or the general one.
pinocchio::JointModel revolute(const double *axis) {
    if (axis[0] == 1) return pinocchio::JointModelRX();
    if (axis[1] == 1) return pinocchio::JointModelRY();
    if (axis[2] == 1) return pinocchio::JointModelRZ();
    return pinocchio::JointModelRevoluteUnaligned(vec(axis));
}

pinocchio::JointModel prismatic(const double *axis) {
    if (axis[0] == 1) return pinocchio::JointModelPX();
    if (axis[1] == 1) return pinocchio::JointModelPY();
    if (axis[2] == 1) return pinocchio::JointModelPZ();
    return pinocchio::JointModelPrismaticUnaligned(vec(axis));
}

void *open(const peer_model *model, int states, char *why, size_t size) {
    if (model->nv > MOST_NV) {
        std::snprintf(why, size, "its Data needs 32 nv^3 bytes, %.1f GB",
                      32e-9 * std::pow(model->nv, 3));
        return nullptr;
    }
    auto p = std::make_unique<Peer>();
    p->body.assign(model->body, model->body + model->bodies + 1);
    p->joint.assign(p->body.size(), 0);
    for (size_t i = 1; i < p->body.size(); ++i) {
        const soa_body_info &b = p->body[i];
        pinocchio::JointModel joint;
        switch (b.type) {
        case SOA_REVOLUTE: joint = revolute(b.axis); break;
        case SOA_PRISMATIC: joint = prismatic(b.axis); break;
        case SOA_SPHERICAL: joint = pinocchio::JointModelSpherical(); break;
        case SOA_FREE: joint = pinocchio::JointModelFreeFlyer(); break;
        default:
            std::snprintf(why, size, "joint type not translated for Pinocchio");
            return nullptr;
        }
        const double *R = b.placement.R;
        Eigen::Matrix3d axes, moments;
        axes << R[0], R[1], R[2], R[3], R[4], R[5], R[6], R[7], R[8];
        const double *I = b.inertia; // xx yy zz xy xz yz
        moments << I[0], I[3], I[4], I[3], I[1], I[5], I[4], I[5], I[2];
        p->joint[i] =
            p->model.addJoint(p->joint[static_cast<size_t>(b.parent)], joint,
                              pinocchio::SE3(axes, vec(b.placement.p)), "j" + std::to_string(i));
        p->model.appendBodyToJoint(p->joint[i], pinocchio::Inertia(b.mass, vec(b.com), moments));
    }
    p->last = p->model.addFrame(pinocchio::Frame("last", p->joint.back(), 0,
                                                 pinocchio::SE3::Identity(), pinocchio::OP_FRAME));
    p->model.gravity.linear(vec(model->gravity));
    p->model.gravity.angular().setZero();
    p->data = std::make_unique<pinocchio::Data>(p->model);
    p->J = pinocchio::Data::Matrix6x::Zero(6, p->model.nv);
    p->place.assign(static_cast<size_t>(model->nv), 0);
    for (size_t i = 1; i < p->body.size(); ++i) {
        const soa_body_info &b = p->body[i];
        const Eigen::Index at = p->model.joints[p->joint[i]].idx_v();
        for (int k = 0; k < b.nv; ++k) // of a free joint the linear part comes first there
            p->place[static_cast<size_t>(b.v_index + k)] =
                at + (b.type == SOA_FREE ? (k + 3) % 6 : k);
    }
    p->states.resize(static_cast<size_t>(states));
    return p.release();
}

void close(void *peer) {
    delete static_cast<Peer *>(peer);
}

void load(void *peer, int state, const double *q, const double *v, const double *a,
          const double *tau) {
    Peer &p = *static_cast<Peer *>(peer);
    State &s = p.states[static_cast<size_t>(state)];
    s.q.setZero(p.model.nq);
    s.v.setZero(p.model.nv);
    s.a.setZero(p.model.nv);
    s.tau.setZero(p.model.nv);
    for (size_t i = 1; i < p.body.size(); ++i) {
        const soa_body_info &b = p.body[i];
        const double *qi = q + b.q_index;
        Eigen::Index at = p.model.joints[p.joint[i]].idx_q();
        const int vectors = b.type == SOA_FREE ? 3 : b.type == SOA_SPHERICAL ? 0 : b.nq;
        for (int k = 0; k < vectors; ++k)
            s.q[at + k] = qi[k];
        for (int k = vectors; k < b.nq; ++k) // quaternions are x y z w there
            s.q[at + vectors + (k - vectors + 3) % 4] = qi[k];
    }
    for (size_t k = 0; k < p.place.size(); ++k) {
        s.v[p.place[k]] = v[k];
        s.a[p.place[k]] = a[k];
        s.tau[p.place[k]] = tau[k];
    }
}

const char *way(void *, peer_fn fn, int way) {
    static const char *const name[PEER_FN_COUNT][2] = {
        {"aba local, " COMPILER, "aba world, " COMPILER},
        {"rnea, " COMPILER, nullptr},
        {"crba local, " COMPILER, "crba world, " COMPILER},
        {"nonLinearEffects, " COMPILER, nullptr},
        {"computeFrameJacobian, " COMPILER, "computeJointJacobians, " COMPILER},
        {"computeABADerivatives, " COMPILER, nullptr},
        {"computeRNEADerivatives, " COMPILER, nullptr}};
    return way < 2 ? name[fn][way] : nullptr;
}

void run(void *peer, peer_fn fn, int way, int state) {
    Peer &p = *static_cast<Peer *>(peer);
    const State &s = p.states[static_cast<size_t>(state)];
    const pinocchio::Model &m = p.model;
    pinocchio::Data &d = *p.data;
    const auto convention = way ? pinocchio::Convention::WORLD : pinocchio::Convention::LOCAL;
    switch (fn) {
    case PEER_FD: pinocchio::aba(m, d, s.q, s.v, s.tau, convention); return;
    case PEER_ID: pinocchio::rnea(m, d, s.q, s.v, s.a); return;
    case PEER_MASS: pinocchio::crba(m, d, s.q, convention); return;
    case PEER_BIAS: pinocchio::nonLinearEffects(m, d, s.q, s.v); return;
    case PEER_JACOBIAN:
        if (way == 0) {
            pinocchio::computeFrameJacobian(m, d, s.q, p.last, pinocchio::LOCAL_WORLD_ALIGNED, p.J);
        } else {
            pinocchio::computeJointJacobians(m, d, s.q);
            pinocchio::getFrameJacobian(m, d, p.last, pinocchio::LOCAL_WORLD_ALIGNED, p.J);
        }
        return;
    case PEER_FD_DERIVATIVES: pinocchio::computeABADerivatives(m, d, s.q, s.v, s.tau); return;
    case PEER_ID_DERIVATIVES: pinocchio::computeRNEADerivatives(m, d, s.q, s.v, s.a); return;
    case PEER_FN_COUNT: return;
    }
}

// Our matrix from theirs; symmetric: only their upper triangle is used.
template <class Matrix>
double *matrix(const Peer &p, const Matrix &theirs, bool symmetric, double *out) {
    for (Eigen::Index i : p.place)
        for (Eigen::Index j : p.place)
            *out++ = symmetric ? theirs(std::min(i, j), std::max(i, j)) : theirs(i, j);
    return out;
}

void fetch(void *peer, peer_fn fn, int, int, double *out) {
    const Peer &p = *static_cast<Peer *>(peer);
    const pinocchio::Data &d = *p.data;
    const size_t nv = p.place.size();
    switch (fn) {
    case PEER_FD:
    case PEER_ID:
    case PEER_BIAS: {
        const auto &answer = fn == PEER_FD ? d.ddq : fn == PEER_ID ? d.tau : d.nle;
        for (size_t k = 0; k < nv; ++k)
            out[k] = answer[p.place[k]];
        return;
    }
    case PEER_MASS: matrix(p, d.M, true, out); return;
    case PEER_JACOBIAN:
        for (Eigen::Index row = 0; row < 6; ++row)
            for (size_t k = 0; k < nv; ++k)
                out[static_cast<size_t>(row) * nv + k] = p.J((row + 3) % 6, p.place[k]);
        return;
    case PEER_FD_DERIVATIVES:
        out = matrix(p, d.ddq_dq, false, out);
        out = matrix(p, d.ddq_dv, false, out);
        matrix(p, d.Minv, true, out);
        return;
    case PEER_ID_DERIVATIVES:
        out = matrix(p, d.dtau_dq, false, out);
        out = matrix(p, d.dtau_dv, false, out);
        matrix(p, d.M, true, out);
        return;
    case PEER_FN_COUNT: return;
    }
}

} // namespace

extern "C" const peer_library *peer_get() {
    static const peer_library library = {
        "pinocchio",
        "Pinocchio " PINOCCHIO_VERSION
        " and Eigen " TEXT(EIGEN_WORLD_VERSION) "." TEXT(EIGEN_MAJOR_VERSION) "." TEXT(
            EIGEN_MINOR_VERSION) ", compiled for this processor by " COMPILER " " __VERSION__,
        open,
        close,
        load,
        way,
        run,
        fetch};
    return &library;
}
