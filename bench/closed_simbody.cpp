// closed_simbody.cpp  Simbody with Ball constraints, for bench_closed.
#include "peer_simbody.cpp"

#include "closed_peer.h"

namespace {

struct Closed {
    std::unique_ptr<Peer> p;
    std::unique_ptr<Integrator> integrator;
    std::unique_ptr<TimeStepper> stepper;
    std::vector<int> at; // positions of our coordinates
};

void *closed_open(const peer_model *model, const closed_tie *ties, int count, char *why,
                  size_t size) {
    try {
        auto c = std::make_unique<Closed>();
        c->p = build(model, why, size);
        if (!c->p) return nullptr;
        Peer &p = *c->p;
        for (int i = 0; i < count; ++i) {
            MobilizedBody &one =
                p.matter.updMobilizedBody(p.mobod[static_cast<size_t>(ties[i].body[0])]);
            MobilizedBody &two =
                p.matter.updMobilizedBody(p.mobod[static_cast<size_t>(ties[i].body[1])]);
            Constraint::Ball(one, vec(ties[i].at[0]), two, vec(ties[i].at[1]));
        }
        p.state = p.system.realizeTopology();
        p.system.realizeModel(p.state);
        p.nv = model->nv;
        c->at.resize(static_cast<size_t>(p.nv));
        for (size_t i = 1; i < p.body.size(); ++i)
            c->at[static_cast<size_t>(p.body[i].v_index)] =
                p.matter.getMobilizedBody(p.mobod[i]).getFirstUIndex(p.state);
        return c.release();
    } catch (const std::exception &e) {
        std::snprintf(why, size, "%s", e.what());
        return nullptr;
    }
}
void closed_close(void *peer) {
    delete static_cast<Closed *>(peer);
}
void closed_load(void *peer, const double *q, const double *v) {
    Closed &c = *static_cast<Closed *>(peer);
    State &s = c.p->state;
    s.setTime(0);
    for (size_t i = 0; i < c.at.size(); ++i)
        s.updQ()[c.at[i]] = q[i], s.updU()[c.at[i]] = v[i];
}
void closed_evaluate(void *peer, const double *q, const double *v) {
    Closed &c = *static_cast<Closed *>(peer);
    State &s = c.p->state;
    for (size_t i = 0; i < c.at.size(); ++i)
        s.updQ()[c.at[i]] = q[i], s.updU()[c.at[i]] = v[i];
    c.p->system.realize(s, Stage::Acceleration);
}
void closed_accelerations(void *peer, double *qdd) {
    Closed &c = *static_cast<Closed *>(peer);
    for (size_t i = 0; i < c.at.size(); ++i)
        qdd[i] = c.p->state.getUDot()[c.at[i]];
}

const struct {
    const char *name;
    double accuracy;
    int order;
} settings[] = {{"as shipped (Merson 4, 1e-3)", 1e-3, 4},
                {"Merson 4, accuracy 1e-6", 1e-6, 4},
                {"Merson 4, accuracy 1e-9", 1e-9, 4}};

const char *closed_setting(int setting) {
    return setting < static_cast<int>(sizeof settings / sizeof *settings) ? settings[setting].name
                                                                          : nullptr;
}
int closed_begin(void *peer, int setting) {
    Closed &c = *static_cast<Closed *>(peer);
    try {
        c.stepper.reset();
        c.integrator = std::make_unique<RungeKuttaMersonIntegrator>(c.p->system);
        c.integrator->setAccuracy(settings[setting].accuracy);
        c.stepper = std::make_unique<TimeStepper>(c.p->system, *c.integrator);
        c.stepper->initialize(c.p->state);
    } catch (const std::exception &) {
        return 1;
    }
    return 0;
}
int closed_advance(void *peer, double time) {
    Closed &c = *static_cast<Closed *>(peer);
    try {
        c.stepper->stepTo(time);
    } catch (const std::exception &) {
        return 1;
    }
    return 0;
}
void closed_state(void *peer, double *q, double *v) {
    Closed &c = *static_cast<Closed *>(peer);
    const State &s = c.integrator->getState();
    for (size_t i = 0; i < c.at.size(); ++i)
        q[i] = s.getQ()[c.at[i]], v[i] = s.getU()[c.at[i]];
}

} // namespace

extern "C" const closed_peer *closed_peer_get() {
    static char version[64];
    static const closed_peer library = {
        "Simbody",    version,         closed_open,          closed_close,
        closed_load,  closed_evaluate, closed_accelerations, closed_setting,
        closed_begin, closed_advance,  closed_state};
    int major, minor, build_number;
    SimTK_version_simbody(&major, &minor, &build_number);
    std::snprintf(version, sizeof version, "Simbody %d.%d.%d", major, minor, build_number);
    return &library;
}
