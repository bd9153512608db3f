// peer_dart.cpp  DART as a peer: a Skeleton of revolute, prismatic, ball and free joints.
//
// fd    Skeleton::computeForwardDynamics
// id    Skeleton::computeInverseDynamics
// mass  Skeleton::getMassMatrix
//
// Ball and free joints: exponential coordinates, velocities in the body's frame, angular part
// first, like ours.
#include "peer.h"

#include <cstdio>
#include <dart/config.hpp>
#include <dart/dynamics/BallJoint.hpp>
#include <dart/dynamics/BodyNode.hpp>
#include <dart/dynamics/FreeJoint.hpp>
#include <dart/dynamics/PrismaticJoint.hpp>
#include <dart/dynamics/RevoluteJoint.hpp>
#include <dart/dynamics/Skeleton.hpp>
#include <memory>
#include <string>
#include <vector>

namespace {

namespace dd = dart::dynamics;

struct Loaded {
    Eigen::VectorXd q, v, a, tau;
};

struct Peer {
    dd::SkeletonPtr skeleton = dd::Skeleton::create();
    std::vector<soa_body_info> body;
    std::vector<dd::BodyNode *> node;
    std::vector<Loaded> states;
    Eigen::VectorXd answer;
    Eigen::MatrixXd M;
    int nv = 0;
};

Eigen::Vector3d vec(const double *x) {
    return Eigen::Vector3d(x[0], x[1], x[2]);
}
Eigen::Matrix3d mat(const double *R) {
    return Eigen::Map<const Eigen::Matrix<double, 3, 3, Eigen::RowMajor>>(R);
}

Eigen::Isometry3d isometry(const soa_frame &f) {
    Eigen::Isometry3d X = Eigen::Isometry3d::Identity();
    X.linear() = mat(f.R);
    X.translation() = vec(f.p);
    return X;
}

template <class Joint>
dd::BodyNode *add(Peer &p, dd::BodyNode *parent, typename Joint::Properties joint,
                  const dd::BodyNode::Properties &body) {
    return p.skeleton->template createJointAndBodyNodePair<Joint>(parent, joint, body).second;
}

void *open(const peer_model *model, int states, char *why, size_t size) {
    auto p = std::make_unique<Peer>();
    p->body.assign(model->body, model->body + model->bodies + 1);
    p->node.assign(p->body.size(), nullptr);
    for (size_t i = 1; i < p->body.size(); ++i) {
        const soa_body_info &b = p->body[i];
        const double *I = b.inertia;
        dd::BodyNode::Properties body;
        body.mName = "b" + std::to_string(i);
        body.mInertia = dd::Inertia(b.mass, vec(b.com), Eigen::Matrix3d::Identity());
        body.mInertia.setMoment(I[0], I[1], I[2], I[3], I[4], I[5]);
        dd::BodyNode *parent = p->node[static_cast<size_t>(b.parent)];
        auto place = [&](auto properties) {
            properties.mName = "j" + std::to_string(i);
            properties.mT_ParentBodyToJoint = isometry(b.placement);
            return properties;
        };
        if (b.type == SOA_REVOLUTE) {
            dd::RevoluteJoint::Properties joint = place(dd::RevoluteJoint::Properties());
            joint.mAxis = vec(b.axis);
            p->node[i] = add<dd::RevoluteJoint>(*p, parent, joint, body);
        } else if (b.type == SOA_PRISMATIC) {
            dd::PrismaticJoint::Properties joint = place(dd::PrismaticJoint::Properties());
            joint.mAxis = vec(b.axis);
            p->node[i] = add<dd::PrismaticJoint>(*p, parent, joint, body);
        } else if (b.type == SOA_SPHERICAL)
            p->node[i] = add<dd::BallJoint>(*p, parent, place(dd::BallJoint::Properties()), body);
        else if (b.type == SOA_FREE)
            p->node[i] = add<dd::FreeJoint>(*p, parent, place(dd::FreeJoint::Properties()), body);
        else {
            std::snprintf(why, size, "joint type not translated for DART");
            return nullptr;
        }
    }
    p->skeleton->setGravity(vec(model->gravity));
    p->nv = model->nv;
    p->states.resize(static_cast<size_t>(states));
    return p.release();
}

void close(void *peer) {
    delete static_cast<Peer *>(peer);
}

// First coordinate of a body: DART numbers its coordinates body by body.
Eigen::Index first(const Peer &p, size_t body) {
    return static_cast<Eigen::Index>(p.node[body]->getParentJoint()->getIndexInSkeleton(0));
}

void load(void *peer, int state, const double *q, const double *v, const double *a,
          const double *tau) {
    Peer &p = *static_cast<Peer *>(peer);
    Loaded &s = p.states[static_cast<size_t>(state)];
    s.q.setZero(p.nv), s.v.setZero(p.nv), s.a.setZero(p.nv), s.tau.setZero(p.nv);
    for (size_t i = 1; i < p.body.size(); ++i) {
        const soa_body_info &b = p.body[i];
        Eigen::Index at = first(p, i);
        const double *qi = q + b.q_index;
        double R[9];
        if (b.type == SOA_FREE) {
            peer_rotation(qi + 3, R);
            Eigen::Isometry3d X = Eigen::Isometry3d::Identity();
            X.linear() = mat(R);
            X.translation() = vec(qi);
            s.q.segment<6>(at) = dd::FreeJoint::convertToPositions(X);
        } else if (b.type == SOA_SPHERICAL) {
            peer_rotation(qi, R);
            s.q.segment<3>(at) = dd::BallJoint::convertToPositions(mat(R));
        } else
            s.q[at] = qi[0];
        for (int k = 0; k < b.nv; ++k) {
            s.v[at + k] = v[b.v_index + k];
            s.a[at + k] = a[b.v_index + k];
            s.tau[at + k] = tau[b.v_index + k];
        }
    }
}

const char *way(void *, peer_fn fn, int way) {
    static const char *const name[PEER_FN_COUNT] = {"computeForwardDynamics",
                                                    "computeInverseDynamics", "getMassMatrix"};
    return way == 0 ? name[fn] : nullptr;
}

void run(void *peer, peer_fn fn, int, int state) {
    Peer &p = *static_cast<Peer *>(peer);
    const Loaded &s = p.states[static_cast<size_t>(state)];
    p.skeleton->setPositions(s.q);
    if (fn == PEER_MASS) {
        p.skeleton->getMassMatrix();
        return;
    }
    p.skeleton->setVelocities(s.v);
    if (fn == PEER_FD) {
        p.skeleton->setForces(s.tau);
        p.skeleton->computeForwardDynamics();
    } else {
        p.skeleton->setAccelerations(s.a);
        p.skeleton->computeInverseDynamics();
    }
}

void fetch(void *peer, peer_fn fn, int, int, double *out) {
    Peer &p = *static_cast<Peer *>(peer);
    if (fn == PEER_MASS)
        p.M = p.skeleton->getMassMatrix();
    else
        p.answer = fn == PEER_FD ? p.skeleton->getAccelerations() : p.skeleton->getForces();
    for (size_t i = 1; i < p.body.size(); ++i)
        for (int k = 0; k < p.body[i].nv; ++k) {
            Eigen::Index row = first(p, i) + k;
            size_t to = static_cast<size_t>(p.body[i].v_index + k);
            if (fn != PEER_MASS) out[to] = p.answer[row];
            for (size_t j = 1; fn == PEER_MASS && j < p.body.size(); ++j)
                for (int l = 0; l < p.body[j].nv; ++l)
                    out[to * static_cast<size_t>(p.nv) +
                        static_cast<size_t>(p.body[j].v_index + l)] = p.M(row, first(p, j) + l);
        }
}

} // namespace

extern "C" const peer_library *peer_get() {
    static const peer_library library = {"dart", "DART " DART_VERSION, open, close, load, way, run,
                                         fetch};
    return &library;
}
