/* singular_step.h  how long a step may be so that no stage of it falls on a singular configuration.
 *
 * Where constraints lose a row on the way (parallel four-bars lying flat), accelerations have a limit from both sides,
 * but rounding errors grow like 1 / distance^3 towards it.  A Runge-Kutta step passes over such a moment if it lies
 * well between two of the step's stages.  `strength` tells how far off the loss of a row is, `ahead` seconds from now
 * on a path predicted from q, v and vdot; at a passage it falls to zero like |t - passage|.
 * The step is chosen so that the passage lies in the middle of a wide gap between stages; if it would end just short
 * of the passage it is made shorter, so that the next one can.                                                       */
#ifndef SOAI_PASSAGE_H
#define SOAI_PASSAGE_H
#include <math.h>

typedef double soai_strength_fn(void *user, double ahead);

/* Middles of the widest gaps between the stages of the method of an order (stepper.c), the best last, and how far the
 * stages are from there; parts of the step. */
static inline const double *soai_gaps(int order, int *count, double *half) {
    static const double two[] = {0.5}, three[] = {0.25}, four[] = {0.25}, five[] = {0.55}, six[] = {7.0 / 15},
                        eight[] = {0.7873}; /* between 0.65 and 0.9247 */
    *count = 1;
    *half = order == 2 ? 0.5 : order == 8 ? 0.137 : order == 6 ? 0.2 : 0.25;
    return order == 2 ? two : order == 3 ? three : order == 4 ? four : order == 5 ? five : order == 6 ? six : eight;
}

/* Rounding errors of positions, 1e-15, grow to 1e-15 / d^3 in the acceleration at the distance d (by strength) from
 * the passage, so a step of length h, at the rate `slope` of the strength, errs by some 1e-15 / (half^3 (h slope)^2)
 * of the velocity whatever the tolerance is.  So the tolerance is raised to that over a passage; the step, longer by
 * what the order of the method allows, makes the noise smaller in turn.  Gives the factor of the tolerance. */
static inline double soai_passage_relief(int order, double tolerance, double slope, double *h) {
    int count;
    double half, relief = 1, longer = *h;
    soai_gaps(order, &count, &half);
    while (relief < 1e9 && 2e-15 / (half * half * half * longer * slope * longer * slope) > tolerance * relief)
        relief *= 2, longer = *h * pow(relief, 1.0 / (order + 1));
    *h = longer;
    return relief;
}

/* When the next passage is, within `reach`; 0: there is none. */
static inline double soai_passage_find(double now, double reach, soai_strength_fn *strength, void *user) {
    enum { LOOKS = 8, REFINE = 30 };
    double before = now, at = strength(user, reach / LOOKS);
    for (int k = 1; k < LOOKS; ++k) {
        const double next = strength(user, reach * (k + 1) / LOOKS);
        if (at <= before && at <= next) { /* a least one between: golden section */
            double a = reach * (k - 1) / LOOKS, b = reach * (k + 1) / LOOKS;
            const double ends = before < next ? before : next, part = 0.3819660112501051;
            double x = a + part * (b - a), y = b - part * (b - a), fx = strength(user, x), fy = strength(user, y);
            for (int i = 0; i < REFINE; ++i) {
                if (fx < fy) {
                    b = y, y = x, fy = fx, x = a + part * (b - a), fx = strength(user, x);
                } else {
                    a = x, x = y, fx = fy, y = b - part * (b - a), fy = strength(user, y);
                }
            }
            if (!((fx < fy ? fx : fy) > 0.03 * ends)) return (a + b) / 2;
        }
        before = at, at = next;
    }
    return 0;
}

/* The next step, about h at most and within the room there is before it must end; passes: whether it goes over the
 * passage.  A little longer than h is allowed, a little less than h planned for, for the next h may be another. */
static inline double soai_passage_step(int order, double h, double room, double passage, int *passes) {
    int count;
    double half, best = 0;
    const double *gap = soai_gaps(order, &count, &half), most = h < room ? h : room, middle = gap[count - 1];
    *passes = 0;
    if (passage >= room) return most;
    if (passage < 0.1 * most) { /* too near to choose */
        *passes = 1;
        return most;
    }
    for (int k = 0; k < count; ++k)
        if (passage <= 1.15 * h * gap[k] && passage <= room * gap[k] && passage / gap[k] > best)
            best = passage / gap[k];
    if (best > 0) {
        *passes = 1;
        return best;
    }
    double before = passage - 0.85 * middle * h; /* then the next step, as long as this may be, passes */
    if (before + 0.85 * h > room) before = (passage - middle * room) / (1 - middle);
    return before > 0 && before < most ? before : most;
}

#endif
