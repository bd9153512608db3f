// peer_kdl.cpp  Orocos KDL as a peer: one segment per body, revolute and prismatic joints, fixed
// base.
//
// fd    ChainFdSolver_RNE (mass matrix and a Cholesky-like solve) or ChainHdSolver_Vereshchagin
//       without constraints
// id    ChainIdSolver_RNE on chains, TreeIdSolver_RNE on trees
// mass  ChainDynParam::JntToMass.  Trees: KDL has neither fd nor mass.
#include "peer.h"

#include <cstdio>
#include <kdl/chaindynparam.hpp>
#include <kdl/chainfdsolver_recursive_newton_euler.hpp>
#include <kdl/chainhdsolver_vereshchagin.hpp>
#include <kdl/chainidsolver_recursive_newton_euler.hpp>
#include <kdl/config.h>
#include <kdl/treeidsolver_recursive_newton_euler.hpp>
#include <memory>
#include <string>
#include <vector>

namespace {

struct State {
    KDL::JntArray q, v, a, tau;
};

struct Peer {
    KDL::Chain chain;
    KDL::Tree tree{"b0"};
    bool serial = true;
    unsigned nv = 0;
    std::vector<State> states;
    KDL::Wrenches no_wrench;
    KDL::WrenchMap no_wrench_map;
    std::unique_ptr<KDL::ChainFdSolver_RNE> fd;
    std::unique_ptr<KDL::ChainHdSolver_Vereshchagin> hd;
    std::unique_ptr<KDL::ChainIdSolver_RNE> id;
    std::unique_ptr<KDL::TreeIdSolver_RNE> tree_id;
    std::unique_ptr<KDL::ChainDynParam> mass;
    KDL::Jacobian alpha{1};
    KDL::JntArray beta{1}, answer, constraint;
    KDL::JntSpaceInertiaMatrix M;
};

KDL::Vector vector(const double *x) {
    return KDL::Vector(x[0], x[1], x[2]);
}

KDL::Frame frame(const soa_frame &f) {
    const double *R = f.R;
    return KDL::Frame(KDL::Rotation(R[0], R[1], R[2], R[3], R[4], R[5], R[6], R[7], R[8]),
                      vector(f.p));
}

void *open(const peer_model *model, int states, char *why, size_t size) {
    auto p = std::make_unique<Peer>();
    for (int i = 1; i <= model->bodies; ++i) {
        const soa_body_info &b = model->body[i];
        if (b.type != SOA_REVOLUTE && b.type != SOA_PRISMATIC) {
            std::snprintf(why, size, "KDL has no %s joint", b.type == SOA_FREE ? "free" : "such");
            return nullptr;
        }
        // Joint axis in the parent's frame; the segment's own frame is the placement at q = 0.
        KDL::Frame place = frame(b.placement);
        std::string name = "b" + std::to_string(i);
        KDL::Joint joint(name, place.p, place.M * vector(b.axis),
                         b.type == SOA_REVOLUTE ? KDL::Joint::RotAxis : KDL::Joint::TransAxis);
        const double *I = b.inertia;
        KDL::RigidBodyInertia inertia(b.mass, vector(b.com),
                                      KDL::RotationalInertia(I[0], I[1], I[2], I[3], I[4], I[5]));
        KDL::Segment segment(name, joint, place, inertia);
        p->chain.addSegment(segment);
        p->tree.addSegment(segment, "b" + std::to_string(b.parent));
        p->serial = p->serial && b.parent == i - 1;
    }
    p->nv = static_cast<unsigned>(model->nv);
    KDL::Vector g = vector(model->gravity);
    p->states.resize(static_cast<size_t>(states));
    p->answer.resize(p->nv);
    p->constraint.resize(p->nv);
    if (p->serial) {
        p->no_wrench.assign(p->chain.getNrOfSegments(), KDL::Wrench::Zero());
        p->M.resize(p->nv);
        p->fd = std::make_unique<KDL::ChainFdSolver_RNE>(p->chain, g);
        p->hd = std::make_unique<KDL::ChainHdSolver_Vereshchagin>(
            p->chain, KDL::Twist(-g, KDL::Vector::Zero()), 1);
        p->id = std::make_unique<KDL::ChainIdSolver_RNE>(p->chain, g);
        p->mass = std::make_unique<KDL::ChainDynParam>(p->chain, g);
        p->alpha.data.setZero();
        KDL::SetToZero(p->beta);
    } else
        p->tree_id = std::make_unique<KDL::TreeIdSolver_RNE>(p->tree, g);
    return p.release();
}

void close(void *peer) {
    delete static_cast<Peer *>(peer);
}

void load(void *peer, int state, const double *q, const double *v, const double *a,
          const double *tau) {
    Peer &p = *static_cast<Peer *>(peer);
    State &s = p.states[static_cast<size_t>(state)];
    auto copy = [&](KDL::JntArray &to, const double *from) {
        to.resize(p.nv);
        for (unsigned i = 0; i < p.nv; ++i)
            to(i) = from[i];
    };
    copy(s.q, q), copy(s.v, v), copy(s.a, a), copy(s.tau, tau);
}

const char *way(void *peer, peer_fn fn, int way) {
    const Peer &p = *static_cast<Peer *>(peer);
    if (fn == PEER_ID && way == 0) return p.serial ? "ChainIdSolver_RNE" : "TreeIdSolver_RNE";
    if (!p.serial) return nullptr;
    if (fn == PEER_FD)
        return way == 0 ? "ChainHdSolver_Vereshchagin" : way == 1 ? "ChainFdSolver_RNE" : nullptr;
    return fn == PEER_MASS && way == 0 ? "ChainDynParam" : nullptr;
}

void run(void *peer, peer_fn fn, int way, int state) {
    Peer &p = *static_cast<Peer *>(peer);
    State &s = p.states[static_cast<size_t>(state)];
    if (fn == PEER_MASS)
        p.mass->JntToMass(s.q, p.M);
    else if (fn == PEER_ID && p.serial)
        p.id->CartToJnt(s.q, s.v, s.a, p.no_wrench, p.answer);
    else if (fn == PEER_ID)
        p.tree_id->CartToJnt(s.q, s.v, s.a, p.no_wrench_map, p.answer);
    else if (way == 0)
        p.hd->CartToJnt(s.q, s.v, p.answer, p.alpha, p.beta, p.no_wrench, s.tau, p.constraint);
    else
        p.fd->CartToJnt(s.q, s.v, s.tau, p.no_wrench, p.answer);
}

void fetch(void *peer, peer_fn fn, int, int, double *out) {
    const Peer &p = *static_cast<Peer *>(peer);
    for (unsigned i = 0; i < p.nv; ++i) {
        if (fn != PEER_MASS) out[i] = p.answer(i);
        for (unsigned j = 0; fn == PEER_MASS && j < p.nv; ++j)
            out[static_cast<size_t>(i) * p.nv + j] = p.M(i, j);
    }
}

} // namespace

extern "C" const peer_library *peer_get() {
    static const peer_library library = {
        "kdl", "Orocos KDL " KDL_VERSION_STRING, open, close, load, way, run, fetch};
    return &library;
}
