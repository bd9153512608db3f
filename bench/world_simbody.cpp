// world_simbody.cpp  Simbody's motion of the scenes of bench_world.
//
// ties    Constraint::Ball, with its projection
// boxes   bricks on a half space with its compliant contact (a penalty at every corner,
//         Hunt-Crossley and Stribeck friction with a transition speed). It has no contact of brick
//         with brick, so boxes pass through each other.
#include "peer_simbody.cpp"

#include "world_peer.h"

#include <cstring>
#include <fcntl.h>
#include <unistd.h>

namespace {

struct World {
    std::unique_ptr<Peer> p;
    std::unique_ptr<ContactTrackerSubsystem> tracker;
    std::unique_ptr<CompliantContactSubsystem> contact;
    std::unique_ptr<Integrator> integrator;
    std::unique_ptr<TimeStepper> stepper;
    int boxes = 0;
    bool quiet = false;
};

const world_way tree_ways[] = {{"Merson 4", 1e-2, 0},
                               {"Merson 4", 1e-3, 0},
                               {"Merson 4", 1e-4, 0},
                               {"Merson 4", 1e-6, 0},
                               {"Merson 4", 1e-8, 0},
                               {"Merson 4", 1e-10, 0},
                               {"Merson 4", 1e-12, 0},
                               {"Feldberg 5", 1e-3, 0},
                               {"Feldberg 5", 1e-5, 0},
                               {"Feldberg 5", 1e-7, 0},
                               {"Feldberg 5", 1e-9, 0},
                               {"Feldberg 5", 1e-11, 0},
                               {"CPodes Adams", 1e-3, 0},
                               {"CPodes Adams", 1e-5, 0},
                               {"CPodes Adams", 1e-7, 0},
                               {"CPodes Adams", 1e-9, 0},
                               {"CPodes Adams", 1e-11, 0},
                               {"Verlet", 1e-2, 1},
                               {"Verlet", 5e-3, 1},
                               {"Verlet", 2e-3, 1},
                               {"Verlet", 1e-3, 1},
                               {"Merson 4", 1e-2, 1},
                               {"Merson 4", 5e-3, 1},
                               {"Merson 4", 2e-3, 1},
                               {"Merson 4", 1e-3, 1},
                               {"semi-explicit Euler", 1e-2, 1},
                               {"semi-explicit Euler", 2e-3, 1},
                               {"semi-explicit Euler", 1e-3, 1}};
const world_way box_ways[] = {
    {"Merson 4", 1e-2, 0}, {"Merson 4", 1e-3, 1}, {"semi-explicit Euler", 1e-3, 1}};

int way_at(void *peer, int i, world_way *out) {
    const World &w = *static_cast<World *>(peer);
    const int count = static_cast<int>(w.boxes ? sizeof box_ways / sizeof *box_ways
                                               : sizeof tree_ways / sizeof *tree_ways);
    if (i < 0 || i >= count) return 0;
    *out = w.boxes ? box_ways[i] : tree_ways[i];
    return 1;
}

void add_boxes(World &w, const world_scene *scene) {
    Peer &p = *w.p;
    w.tracker = std::make_unique<ContactTrackerSubsystem>(p.system);
    w.contact = std::make_unique<CompliantContactSubsystem>(p.system, *w.tracker);
    w.contact->setTransitionVelocity(1e-3);
    const ContactCliqueId clique = ContactSurface::createNewContactClique();
    // A corner at depth x is pushed out by stiffness x (1 + dissipation x'); of two equal surfaces
    // each gets half of the depth.
    const Real dissipation = 0.5;
    const ContactMaterial material(2 * scene->stiffness, dissipation, scene->friction,
                                   scene->friction, 0);
    p.matter.updGround().updBody().addContactSurface(
        Transform(Rotation(Pi / 2, YAxis), Vec3(0)), // x > 0 is solid
        ContactSurface(ContactGeometry::HalfSpace(), material));
    for (size_t i = 1; i < p.body.size(); ++i)
        p.matter.updMobilizedBody(p.mobod[i])
            .updBody()
            .addContactSurface(Transform(),
                               ContactSurface(ContactGeometry::Brick(vec(scene->half)), material)
                                   .joinClique(clique));
}

void *world_open(const world_scene *scene, char *why, size_t size) {
    try {
        auto w = std::make_unique<World>();
        w->p = build(&scene->model, why, size);
        if (!w->p) return nullptr;
        Peer &p = *w->p;
        for (int i = 0; i < scene->tie_count; ++i) {
            const world_tie &tie = scene->tie[i];
            Constraint::Ball(p.matter.updMobilizedBody(p.mobod[static_cast<size_t>(tie.body[0])]),
                             vec(tie.at[0]),
                             p.matter.updMobilizedBody(p.mobod[static_cast<size_t>(tie.body[1])]),
                             vec(tie.at[1]));
        }
        w->boxes = scene->boxes;
        if (scene->boxes) add_boxes(*w, scene);
        p.state = p.system.realizeTopology();
        p.system.realizeModel(p.state);
        p.nv = scene->model.nv;
        if (p.state.getNU() != p.nv) {
            std::snprintf(why, size, "other coordinates");
            return nullptr;
        }
        return w.release();
    } catch (const std::exception &e) {
        std::snprintf(why, size, "%s", e.what());
        return nullptr;
    }
}
void world_close(void *peer) {
    delete static_cast<World *>(peer);
}

std::unique_ptr<Integrator> make(const MultibodySystem &system, const world_way &how) {
    std::unique_ptr<Integrator> one;
    if (!std::strcmp(how.curve, "Merson 4"))
        one = std::make_unique<RungeKuttaMersonIntegrator>(system);
    else if (!std::strcmp(how.curve, "Feldberg 5"))
        one = std::make_unique<RungeKuttaFeldbergIntegrator>(system);
    else if (!std::strcmp(how.curve, "CPodes Adams"))
        one = std::make_unique<CPodesIntegrator>(system, CPodes::Adams, CPodes::Functional);
    else if (!std::strcmp(how.curve, "Verlet"))
        one = std::make_unique<VerletIntegrator>(system);
    else
        one = std::make_unique<SemiExplicitEulerIntegrator>(system, how.value);
    if (how.fixed && std::strcmp(how.curve, "semi-explicit Euler"))
        one->setFixedStepSize(how.value);
    if (!how.fixed) one->setAccuracy(how.value);
    return one;
}

int world_begin(void *peer, int way, const double *q, const double *v) {
    World &w = *static_cast<World *>(peer);
    Peer &p = *w.p;
    world_way how;
    if (!way_at(peer, way, &how)) return 1;
    w.quiet = !std::strncmp(how.curve, "CPodes", 6);
    try {
        State &s = p.state;
        s.setTime(0);
        for (size_t i = 1; i < p.body.size(); ++i) {
            const soa_body_info &b = p.body[i];
            const MobilizedBody &m = p.matter.getMobilizedBody(p.mobod[i]);
            const int q_at = m.getFirstQIndex(s), u_at = m.getFirstUIndex(s);
            const double *qi = q + b.q_index, *vi = v + b.v_index;
            if (b.type != SOA_FREE) {
                s.updQ()[q_at] = qi[0], s.updU()[u_at] = vi[0];
                continue;
            }
            double R[9], u[6];
            peer_rotation(qi + 3, R);
            peer_mul(R, vi, u), peer_mul(R, vi + 3, u + 3);
            for (int k = 0; k < 4; ++k)
                s.updQ()[q_at + k] = qi[3 + k];
            for (int k = 0; k < 3; ++k)
                s.updQ()[q_at + 4 + k] = qi[k];
            for (int k = 0; k < 6; ++k)
                s.updU()[u_at + k] = u[k];
        }
        w.stepper.reset();
        w.integrator = make(p.system, how);
        w.stepper = std::make_unique<TimeStepper>(p.system, *w.integrator);
        w.stepper->initialize(s);
    } catch (const std::exception &) {
        return 1;
    }
    return 0;
}
// Silences CPODES, which writes long texts to standard error.
struct Hush {
    int saved;
    Hush() : saved(dup(2)) {
        const int nowhere = ::open("/dev/null", O_WRONLY);
        dup2(nowhere, 2);
        ::close(nowhere);
    }
    Hush(const Hush &) = delete;
    Hush &operator=(const Hush &) = delete;
    ~Hush() {
        std::fflush(stderr);
        dup2(saved, 2);
        ::close(saved);
    }
};
int world_advance(void *peer, double time) {
    World &w = *static_cast<World *>(peer);
    try {
        std::unique_ptr<Hush> hush;
        if (w.quiet) hush = std::make_unique<Hush>();
        w.stepper->stepTo(time);
    } catch (const std::exception &) {
        return 1;
    }
    return 0;
}
void world_state(void *peer, double *q, double *v) {
    World &w = *static_cast<World *>(peer);
    const Peer &p = *w.p;
    const State &s = w.integrator->getState();
    for (size_t i = 1; i < p.body.size(); ++i) {
        const soa_body_info &b = p.body[i];
        const MobilizedBody &m = p.matter.getMobilizedBody(p.mobod[i]);
        const int q_at = m.getFirstQIndex(s), u_at = m.getFirstUIndex(s);
        double *qi = q + b.q_index, *vi = v + b.v_index;
        if (b.type != SOA_FREE) {
            qi[0] = s.getQ()[q_at], vi[0] = s.getU()[u_at];
            continue;
        }
        double R[9], u[6];
        for (int k = 0; k < 4; ++k)
            qi[3 + k] = s.getQ()[q_at + k];
        for (int k = 0; k < 3; ++k)
            qi[k] = s.getQ()[q_at + 4 + k];
        for (int k = 0; k < 6; ++k)
            u[k] = s.getU()[u_at + k];
        double size = 0;
        for (int k = 3; k < 7; ++k)
            size += qi[k] * qi[k];
        for (int k = 3; k < 7; ++k)
            qi[k] /= std::sqrt(size);
        peer_rotation(qi + 3, R);
        peer_mul_t(R, u, vi), peer_mul_t(R, u + 3, vi + 3);
    }
}

} // namespace

extern "C" const world_peer *world_peer_get() {
    static char version[64];
    static const world_peer library = {"Simbody",   version,       world_open,  world_close, way_at,
                                       world_begin, world_advance, world_state, nullptr};
    int major, minor, build_number;
    SimTK_version_simbody(&major, &minor, &build_number);
    std::snprintf(version, sizeof version, "Simbody %d.%d.%d", major, minor, build_number);
    return &library;
}
