/* soa/graph.h  machines with loops: a graph of links and joints, its spanning tree, and WD89's
 *              binary tree.
 *
 * A linkage is a graph: links, and joints that each join two of them; link 0 is the world.  A
 * spanning tree of it is an ordinary model; every joint left over is a loop, plain data here, a
 * constraint beside the model later (soa_constraint_from_loop in soa/constraint.h).  Which joints
 * are cut is the library's choice or the caller's.  (soa_scalar_graph is something else: the graph
 * of an operator's sweeps, soa/operator.h.)  docs/theory/graphs.md. */
#ifndef SOA_GRAPH_H
#define SOA_GRAPH_H

#include "soa/model.h"

#ifdef __cplusplus
extern "C" {
#endif

/* --- joints by themselves --------------------------------------------------------------------- */

/* The same joint seen from its child: the axes turned round, a universal's exchanged (and so its
 * two coordinates), and q and v of joints with one degree of freedom and of cylindrical ones the
 * same as before.  SOA_E_JOINT where forces of the joint cannot be said so: an exact rotor; Coulomb
 * friction of a spherical joint; friction, springs or rotors of a planar or free one.  reversed may
 * be joint. */
SOA_API soa_status soa_joint_reverse(const soa_joint_def *joint, soa_joint_def *reversed);
/* The inverse of the joint map.  The child stands at X in the joint's frame, moves there with V
 * ([w; v] in the child's axes), and A is the rate of those six numbers.  Gives the coordinates, nq
 * and nv numbers; motions that the joint does not allow are left out.  Angles are in (-pi, pi]; a
 * helical one has the turns of its shift.  V with v, A with a may be NULL; A needs V.  SOA_E_FRAME:
 * X is no rotation and finite shift; SOA_E_JOINT: the axes; SOA_E_NOT_FINITE. */
SOA_API soa_status soa_joint_coordinates(const soa_joint_def *joint, const soa_frame *X,
                                         const double V[6], const double A[6], double *q, double *v,
                                         double *a);

/* --- the graph -------------------------------------------------------------------------------- */

typedef struct soa_link_def {
    const char *name;  /* unique, needed                                                    */
    double mass;       /* kg                                                                */
    double com[3];     /* in the link's frame, m                                            */
    double inertia[6]; /* about the centre of mass, link axes: xx yy zz xy xz yz, kg m^2    */
} soa_link_def;

typedef enum soa_edge_use {
    SOA_EDGE_ANY, /* the library chooses             */
    SOA_EDGE_CUT, /* a loop is cut here              */
    SOA_EDGE_KEEP /* the joint belongs to the tree   */
} soa_edge_use;

typedef struct soa_edge_def {
    const char *name;         /* unique, needed */
    int link1, link2;         /* joins these; the i-th link of the definition (from 0) is i+1, 0 the
                               * world */
    soa_frame place1, place2; /* the joint's frame in each; they coincide at q = 0 */
    soa_joint_def joint;      /* q moves link 2 in link 1; mimic is the number of another joint
                               * here, from 0 */
    soa_edge_use use;
} soa_edge_def;

typedef struct soa_linkage_def {
    const char *name;
    double gravity[3];
    int link_count;
    const soa_link_def *links;
    int joint_count;
    const soa_edge_def *joints;
    int frame_count;
    const soa_frame_def *frames;
    bool ideal; /* as in soa_model_def; cut joints do not rub then either */
} soa_linkage_def;
/* Without mass; places identity, joints as soa_joint_default, SOA_EDGE_ANY; gravity 0 0 -9.81, no
 * frames. */
SOA_API soa_link_def soa_link_default(const char *name);
SOA_API soa_edge_def soa_edge_default(const char *name, int link1, int link2, soa_joint_type type);
SOA_API soa_linkage_def soa_linkage_default(const char *name, const soa_link_def *links,
                                            int link_count, const soa_edge_def *joints,
                                            int joint_count);

/* --- its spanning tree ------------------------------------------------------------------------ */

/* A joint that closes a loop: place2 on link2 moves in place1 on link1 as the joint lets it.  Links
 * are numbers of the tree's definition, and so frames of the model that is built from it. */
typedef struct soa_loop_def {
    const char *name;
    int link1, link2;
    soa_frame place1, place2;
    soa_joint_def joint;
} soa_loop_def;

/* What became of a joint of the graph. */
typedef struct soa_edge_place {
    int link;      /* link of the tree that it carries, 0: it was cut              */
    bool reversed; /* true: used from link 2 to link 1, see soa_joint_reverse   */
    int loop;      /* number among the loops, -1: not cut                          */
} soa_edge_place;

/* A mimic joint that the tree could not keep so, because it or the joint it follows was cut:
 * q(follower) = ratio * q(leader) + offset, both joints of the graph. */
typedef struct soa_loop_ratio {
    int follower, leader;
    double ratio, offset;
} soa_loop_ratio;

typedef struct soa_linkage_tree {
    soa_model_def model; /* names are those of the graph, whose text must outlive this */
    int loop_count;
    const soa_loop_def *loops;
    const int *link;              /* of each link of the graph, from 0 the world: the link of the
                                   * tree with its frame */
    const soa_edge_place *joints; /* of each joint of the graph */
    int ratio_count;
    const soa_loop_ratio *ratios;
    int floating; /* parts that no joint ties to the world: the first link of each got a free
                   * joint */
} soa_linkage_tree;

/* Chooses the tree: joints to keep come first, then those that cannot be cut (friction that differs
 * by direction; free joints with friction or rotors), those with springs, rotors or mimic, which
 * are better kept, then those of fewest degrees of freedom, so that the cut ones leave fewest
 * coordinates and rows; last, joints that would have to be turned round and cannot
 * (soa_joint_reverse).  Among equals breadth first from the world, then in order of the definition.
 * Links of the tree stand depth first. Where the carrying joint does not sit at the link's own
 * frame, a massless link "LINK@JOINT" moves and LINK is fixed to it, so that the frame LINK is the
 * same for every choice of cuts. Allocates; O(joints log joints).  Release with
 * soa_linkage_tree_free (NULL is fine).  The report says what is wrong: SOA_E_NAME, _TREE (links
 * that do not exist; joints to be kept that close a loop), _FRAME, _JOINT (a joint that must be cut
 * or turned round and cannot), _MIMIC, _ARGUMENT (also more than 500,000 links), _MEMORY.  Masses,
 * axes and names used twice are seen when the model is built. */
SOA_API soa_status soa_linkage_span(const soa_linkage_def *def, soa_linkage_tree **tree,
                                    soa_report *report);
SOA_API void soa_linkage_tree_free(soa_linkage_tree *tree);

/* --- WD89's binary tree (its section 2.1) ----------------------------------------------------- */

typedef enum soa_item_kind {
    SOA_ITEM_SUCCESSOR,   /* a body and the joint that carries it; item 0, the inertial link, too */
    SOA_ITEM_TERMINATING, /* no body: the joint at which a loop was cut */
    SOA_ITEM_CONNECTOR    /* no body and no joint: places one more joint of its body */
} soa_item_kind;

/* Items are numbered as WD89 does: bodies 1 to m, terminating links to m + r, then connectors.
 * Each has at most one successor (a body or terminating link) and one connector.  Loop k is closed
 * when
 *     T(0 .. m + 1 + k) = T(0 .. the connector whose end is k),
 *     WD89 (8), (9)
 * T the product of placements and joint maps on the way. */
typedef struct soa_binary_item {
    soa_item_kind kind;
    int predecessor;          /* item, -1 for the inertial link */
    int successor, connector; /* items, 0: none */
    int body;                 /* body it is, or belongs to (connector: fixed to; terminating: that
                               * carries the joint) */
    int loop;                 /* terminating: its loop; connector: loop that ends there; else -1 */
    soa_frame placement;      /* in the predecessor; of a successor or terminating link: before its
                               * joint's motion */
} soa_binary_item;
/* Loops join frames of the model (link1, link2 as frames).  items NULL: only the count.  Allocates
 * scratch.  SOA_E_MEMORY also where `room` items are too few; SOA_E_NAME: no such frame;
 * SOA_E_FRAME. */
SOA_API soa_status soa_model_binary_tree(const soa_model *model, const soa_loop_def *loops,
                                         int loop_count, soa_binary_item *items, int room,
                                         int *count);

#ifdef __cplusplus
}
#endif
#endif
