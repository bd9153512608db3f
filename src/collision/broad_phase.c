/* broad_phase.c  which boxes meet: sweep and prune along one axis.
 *
 * The axis is that along which the boxes' middles spread most; boxes are sorted by their lower ends
 * and swept.  From one step to the next the order hardly changes, so sorting by insertion is
 * O(count); where it is not nearly sorted, by heap. Cost: O(count + pairs that overlap along the
 * axis), at first O(count log count). */
#include "collision_internal.h"

static int widest_axis(const soa_bounds *bounds, int count) {
    int best = 0;
    double most = -1;
    for (int axis = 0; axis < 3; ++axis) {
        double mean = 0, sum = 0, number = 0;
        for (int i = 0; i < count; ++i) { /* Welford */
            const double low = bounds[i].low[axis], high = bounds[i].high[axis];
            if (!(low > -1e150 && high < 1e150)) continue; /* half spaces */
            const double x = 0.5 * (low + high), from = x - mean;
            number += 1;
            mean += from / number;
            sum += from * (x - mean);
        }
        if (sum > most) {
            most = sum;
            best = axis;
        }
    }
    return best;
}

static int before(const soa_bounds *bounds, int axis, int i, int j) {
    const double a = bounds[i].low[axis], b = bounds[j].low[axis];
    return a < b || (a == b && i < j); /* ties by number: the same pairs in the same order */
}
static void sift(const soa_bounds *bounds, int axis, int *order, int at, int count) {
    for (int child; (child = 2 * at + 1) < count; at = child) {
        if (child + 1 < count && before(bounds, axis, order[child], order[child + 1])) ++child;
        if (!before(bounds, axis, order[at], order[child])) return;
        const int t = order[at];
        order[at] = order[child];
        order[child] = t;
    }
}
static void sort(const soa_bounds *bounds, int axis, int *order, int count) {
    long moves = 0;
    for (int k = 1; k < count; ++k) {
        const int x = order[k];
        int at = k;
        for (; at > 0 && before(bounds, axis, x, order[at - 1]); --at)
            order[at] = order[at - 1];
        order[at] = x;
        moves += k - at;
        if (moves > 16L * count) break;
    }
    if (moves <= 16L * count) return;
    for (int k = count / 2 - 1; k >= 0; --k)
        sift(bounds, axis, order, k, count);
    for (int k = count - 1; k > 0; --k) {
        const int t = order[0];
        order[0] = order[k];
        order[k] = t;
        sift(bounds, axis, order, 0, k);
    }
}

soa_status soa_bounds_pairs(const soa_bounds *bounds, int count, int *order,
                            soa_pair_wanted_fn *wanted, void *user, int (*pairs)[2], int most,
                            int *found) {
    if (count < 0 || most < 0 || !found || (count > 0 && (!bounds || !order)) ||
        (most > 0 && !pairs))
        return SOA_E_ARGUMENT;
    for (int i = 0; i < count; ++i) {
        if (order[i] < 0 || order[i] >= count) return SOA_E_ARGUMENT;
        for (int k = 0; k < 3; ++k)
            if (!(bounds[i].low[k] <= bounds[i].high[k])) return SOA_E_NOT_FINITE;
    }
    const int axis = widest_axis(bounds, count), y = (axis + 1) % 3, z = (axis + 2) % 3;
    sort(bounds, axis, order, count);
    int number = 0;
    for (int k = 0; k < count; ++k) {
        const soa_bounds *a = &bounds[order[k]];
        for (int m = k + 1; m < count; ++m) {
            const soa_bounds *b = &bounds[order[m]];
            if (b->low[axis] > a->high[axis]) break;
            if (b->low[y] > a->high[y] || a->low[y] > b->high[y] || b->low[z] > a->high[z] ||
                a->low[z] > b->high[z])
                continue;
            const int i = order[k] < order[m] ? order[k] : order[m];
            const int j = order[k] < order[m] ? order[m] : order[k];
            if (wanted && !wanted(user, i, j)) continue;
            if (number < most) {
                pairs[number][0] = i;
                pairs[number][1] = j;
            }
            ++number;
        }
    }
    *found = number;
    return SOA_OK;
}
