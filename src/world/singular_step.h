/* singular_step.h  chooses the length of a step so that none of its stages falls on a singular
 * configuration.
 *
 * At some configurations on the way the constraints lose a row (a parallel four-bar lying flat).
 * Accelerations have the same limit from both sides, but rounding errors grow like 1 / distance^3
 * towards it. A Runge-Kutta step passes over such a moment if it lies well between two of the
 * step's stages. `strength` says how far the loss of a row is away, `ahead` seconds from now on a
 * path predicted from q, v and vdot; at a passage it falls to zero like |t - passage|. The step is
 * chosen so that the passage lies in the middle of a wide gap between stages. If it would end just
 * before the passage, it is made shorter, so that the next step can pass. */
#ifndef SOAI_PASSAGE_H
#define SOAI_PASSAGE_H
#include <math.h>

typedef double soai_strength_fn(void *user, double ahead);

/* Middles of the widest gaps between the stages of the method of an order (stepper.c), the best
 * last, and the distance of the stages from there; as fractions of the step. */
static inline const double *soai_gaps(int order, int *count, double *half) {
    static const double two[] = {0.5}, three[] = {0.25}, four[] = {0.25}, five[] = {0.55},
                        six[] = {7.0 / 15}, eight[] = {0.7873}; /* between 0.65 and 0.9247 */
    *count = 1;
    if (order == 2) {
        *half = 0.5;
    } else if (order == 8) {
        *half = 0.137;
    } else if (order == 6) {
        *half = 0.2;
    } else {
        *half = 0.25;
    }
    if (order == 2) return two;
    if (order == 3) return three;
    if (order == 4) return four;
    if (order == 5) return five;
    if (order == 6) return six;
    return eight;
}

/* Rounding errors of positions, 1e-15, grow to 1e-15 / d^3 in the acceleration at the distance d
 * (measured by strength) from the passage. So a step of length h, with the rate `slope` of the
 * strength, has an error of about 1e-15 / (half^3 (h slope)^2) in the velocity, whatever the
 * tolerance. Therefore the tolerance is raised to that over a passage. The step becomes longer as
 * the order of the method allows, which in turn reduces this error. Returns the factor of the
 * tolerance. */
static inline double soai_passage_relief(int order, double tolerance, double slope, double *h) {
    int count;
    double half, relief = 1, longer = *h;
    soai_gaps(order, &count, &half);
    while (relief < 1e9 &&
           2e-15 / (half * half * half * longer * slope * longer * slope) > tolerance * relief) {
        relief *= 2;
        longer = *h * pow(relief, 1.0 / (order + 1));
    }
    *h = longer;
    return relief;
}

/* Time of the next passage within `reach`; 0: there is none. */
static inline double soai_passage_find(double now, double reach, soai_strength_fn *strength,
                                       void *user) {
    enum { LOOKS = 8, REFINE = 30 };
    double before = now, at = strength(user, reach / LOOKS);
    for (int k = 1; k < LOOKS; ++k) {
        const double next = strength(user, reach * (k + 1) / LOOKS);
        /* A minimum lies between: golden section. */
        if (at <= before && at <= next) {
            double a = reach * (k - 1) / LOOKS, b = reach * (k + 1) / LOOKS;
            const double ends = before < next ? before : next, part = 0.3819660112501051;
            double x = a + part * (b - a), y = b - part * (b - a), fx = strength(user, x),
                   fy = strength(user, y);
            for (int i = 0; i < REFINE; ++i) {
                if (fx < fy) {
                    b = y;
                    y = x;
                    fy = fx;
                    x = a + part * (b - a);
                    fx = strength(user, x);
                } else {
                    a = x;
                    x = y;
                    fx = fy;
                    y = b - part * (b - a);
                    fy = strength(user, y);
                }
            }
            if (!((fx < fy ? fx : fy) > 0.03 * ends)) return (a + b) / 2;
        }
        before = at;
        at = next;
    }
    return 0;
}

/* Length of the next step: about h at most, and within `room`, the time before it must end. passes:
 * whether it passes over the passage. A step slightly longer than h is allowed, and slightly less
 * than h is planned, because the next h may differ. */
static inline double soai_passage_step(int order, double h, double room, double passage,
                                       int *passes) {
    int count;
    double half, best = 0;
    const double *gap = soai_gaps(order, &count, &half), most = h < room ? h : room,
                 middle = gap[count - 1];
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
    /* So that the next step, of the length allowed now, can pass. */
    double before = passage - 0.85 * middle * h;
    if (before + 0.85 * h > room) before = (passage - middle * room) / (1 - middle);
    return before > 0 && before < most ? before : most;
}

#endif
