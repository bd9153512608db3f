/* binary_tree.c  a tree with cut joints in the storage of WD89 (section 2.1, Figure 1(b)).
 *
 * A body with several outward joints keeps the first as its successor. Each further joint hangs on
 * a connector link, a frame fixed to the body; connectors hang on each other. A cut joint is a
 * terminating link that goes out from the body of its link 1; a connector on the body of its link 2
 * marks where it must arrive. So every item has at most two outward items: a successor and a
 * connector. WD89 locates the first joint by the link's own D-H parameters; here it has a placement
 * like any other. */
#include "model_internal.h"
#include "soa/graph.h"
#include <stdlib.h>

typedef struct writer {
    soa_binary_item *items;
    int *tail; /* of a body: last item of its chain of connectors; at first the body itself */
    char *has; /* the body has a successor */
    int count;
} writer;

static void put(writer *w, int at, soa_binary_item item) {
    if (w->items) w->items[at] = item;
}

/* Hangs `item` (0: none, the end of a loop) on the body at `place`. tail_place is the placement of
 * the last connector. */
static void hang(writer *w, int body, int item, int loop, const soa_frame *place,
                 soa_frame *tail_place) {
    if (item && !w->has[body]) {
        w->has[body] = 1;
        if (!w->items) return;
        w->items[body].successor = item;
        w->items[item].predecessor = body;
        w->items[item].placement = *place;
        return;
    }
    const int connector = w->count++, from = w->tail[body];
    const soa_frame back = soa_frame_inverse(&tail_place[body]);
    w->tail[body] = connector;
    put(w, connector,
        (soa_binary_item){.kind = SOA_ITEM_CONNECTOR,
                          .predecessor = from,
                          .successor = item,
                          .body = body,
                          .loop = item ? -1 : loop,
                          .placement = soa_frame_compose(&back, place)});
    tail_place[body] = *place;
    if (!w->items) return;
    w->items[from].connector = connector;
    if (item) {
        w->items[item].predecessor = connector;
        w->items[item].placement = soa_frame_identity();
    }
}

static void place_of(const soa_model *m, int frame, const soa_frame *in, int *body,
                     soa_frame *place) {
    soa_frame_info info;
    soa_model_frame(m, frame, &info);
    *body = info.body;
    *place = soa_frame_compose(&info.placement, in);
}

static int fill(const soa_model *m, const soa_loop_def *loops, int loop_count, writer *w,
                soa_frame *tail_place) {
    const int bodies = soa_model_body_count(m);
    soa_frame place;
    int body;
    w->count = 1 + bodies + loop_count;
    for (int b = 0; b <= bodies; ++b) {
        put(w, b,
            (soa_binary_item){
                .kind = SOA_ITEM_SUCCESSOR, .predecessor = -1, .body = b, .loop = -1});
        if (!b && w->items) w->items[0].placement = soa_frame_identity();
        w->tail[b] = b;
        w->has[b] = 0;
        tail_place[b] = soa_frame_identity();
    }
    for (int b = 1; b <= bodies; ++b) {
        soa_body_info info;
        soa_model_body(m, b, &info);
        hang(w, info.parent, b, -1, &info.placement, tail_place);
    }
    for (int k = 0; k < loop_count; ++k) {
        place_of(m, loops[k].link1, &loops[k].place1, &body, &place);
        put(w, 1 + bodies + k,
            (soa_binary_item){.kind = SOA_ITEM_TERMINATING, .body = body, .loop = k});
        hang(w, body, 1 + bodies + k, k, &place, tail_place);
    }
    for (int k = 0; k < loop_count; ++k) {
        place_of(m, loops[k].link2, &loops[k].place2, &body, &place);
        hang(w, body, 0, k, &place, tail_place);
    }
    return w->count;
}

soa_status soa_model_binary_tree(const soa_model *model, const soa_loop_def *loops, int loop_count,
                                 soa_binary_item *items, int room, int *count) {
    if (!model || loop_count < 0 || (loop_count && !loops) || !count) return SOA_E_ARGUMENT;
    for (int k = 0; k < loop_count; ++k) {
        const int frame[2] = {loops[k].link1, loops[k].link2};
        for (int i = 0; i < 2; ++i)
            if (frame[i] < 0 || frame[i] >= soa_model_frame_count(model)) return SOA_E_NAME;
        if (!soai_rotation_fits(&loops[k].place1) || !soai_rotation_fits(&loops[k].place2))
            return SOA_E_FRAME;
    }
    const size_t bodies = (size_t)soa_model_body_count(model) + 1;
    writer w = {.tail = malloc(bodies * sizeof *w.tail), .has = malloc(bodies)};
    soa_frame *places = malloc(bodies * sizeof *places);
    soa_status status = SOA_E_MEMORY;
    if (w.tail && w.has && places) {
        const int needed = fill(model, loops, loop_count, &w, places);
        if (!items || room >= needed) {
            *count = needed;
            w.items = items;
            if (items) fill(model, loops, loop_count, &w, places);
            status = SOA_OK;
        }
    }
    free(w.tail);
    free(w.has);
    free(places);
    return status;
}
