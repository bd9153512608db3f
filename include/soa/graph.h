/* soa/graph.h  machines with loops: a graph of links and joints, its spanning tree, and WD89's
 *              binary tree.
 *
 * A linkage is a graph of links and of joints that each connect two links; link 0 is the world.
 * Its spanning tree is an ordinary model.  Every other joint is a loop: plain data here, later a
 * constraint on the model (soa_constraint_from_loop in soa/constraint.h).  The library or the
 * caller chooses which joints are cut.  soa_scalar_graph (soa/operator.h) is something else.
 * docs/theory/graphs.md. */
#ifndef SOA_GRAPH_H
#define SOA_GRAPH_H

#include "soa/model.h"

#ifdef __cplusplus
extern "C" {
#endif

/* --- joints by themselves --------------------------------------------------------------------- */

/* The same joint seen from its child: the axes are reversed, those of a universal joint (and so its
 * two coordinates) exchanged.  q and v of joints with one degree of freedom and of cylindrical
 * joints stay the same.  SOA_E_JOINT: the reversed joint cannot have the same forces (an exact
 * rotor; Coulomb friction of a spherical joint; friction, springs or rotors of a planar or free
 * joint). reversed may be joint. */
SOA_API soa_status soa_joint_reverse(const soa_joint_def *joint, soa_joint_def *reversed);
/* The inverse of the joint map.  The child has the pose X in the frame of the joint and moves there
 * with V ([w; v] in the axes of the child); A is the rate of these six numbers.  Writes the
 * coordinates, nq, nv and nv numbers; motions that the joint does not allow are ignored.  Angles
 * are in (-pi, pi]; that of a helical joint has the turns of its shift.  V with v, and A with a,
 * may be NULL; A needs V.  SOA_E_FRAME: X is not a rotation and a finite shift.  SOA_E_JOINT: the
 * axes.  SOA_E_NOT_FINITE. */
SOA_API soa_status soa_joint_coordinates(const soa_joint_def *joint, const soa_frame *X,
                                         const double V[6], const double A[6], double *q, double *v,
                                         double *a);

/* --- the graph -------------------------------------------------------------------------------- */

typedef struct soa_link_def {
    const char *name;  /* unique, needed */
    double mass;       /* kg */
    double com[3];     /* in the link's frame, m */
    double inertia[6]; /* about the centre of mass, link axes: xx yy zz xy xz yz, kg m^2 */
} soa_link_def;

typedef enum soa_edge_use {
    SOA_EDGE_ANY, /* the library chooses */
    SOA_EDGE_CUT, /* a loop is cut at this joint */
    SOA_EDGE_KEEP /* the joint belongs to the tree */
} soa_edge_use;

typedef struct soa_edge_def {
    const char *name; /* unique, needed */
    /* The links that it connects: the i-th of the definition (from 0) is i+1; 0: the world */
    int link1;
    int link2;
    soa_frame place1; /* the frame of the joint in each link; they coincide at q = 0 */
    soa_frame place2;
    /* q moves link 2 relative to link 1; mimic is the number of another joint of this list, from
     * 0 */
    soa_joint_def joint;
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
    bool ideal; /* as in soa_model_def; cut joints have no friction then either */
} soa_linkage_def;
/* Links without mass; identity places, joints as soa_joint_default, SOA_EDGE_ANY; gravity 0 0
 * -9.81, no frames. */
SOA_API soa_link_def soa_link_default(const char *name);
SOA_API soa_edge_def soa_edge_default(const char *name, int link1, int link2, soa_joint_type type);
SOA_API soa_linkage_def soa_linkage_default(const char *name, const soa_link_def *links,
                                            int link_count, const soa_edge_def *joints,
                                            int joint_count);

/* --- its spanning tree ------------------------------------------------------------------------ */

/* A joint that closes a loop: place2 on link2 moves relative to place1 on link1 as the joint
 * allows. Links are numbers of the definition of the tree, and so frames of the model that is built
 * from it. */
typedef struct soa_loop_def {
    const char *name;
    int link1;
    int link2;
    soa_frame place1;
    soa_frame place2;
    soa_joint_def joint;
} soa_loop_def;

/* What became of a joint of the graph. */
typedef struct soa_edge_place {
    int link;      /* link of the tree that it carries; 0: it was cut */
    bool reversed; /* true: used from link 2 to link 1, see soa_joint_reverse */
    int loop;      /* number of its loop; -1: it was not cut */
} soa_edge_place;

/* A mimic joint that the tree does not contain as such, because it or its leader was cut:
 * q(follower) = ratio * q(leader) + offset, for joints of the graph. */
typedef struct soa_loop_ratio {
    int follower;
    int leader;
    double ratio;
    double offset;
} soa_loop_ratio;

typedef struct soa_linkage_tree {
    /* Its names point into the definition of the graph, which must outlive this tree */
    soa_model_def model;
    int loop_count;
    const soa_loop_def *loops;
    /* for each link of the graph (0: the world): the link of the tree with its frame */
    const int *link;
    const soa_edge_place *joints; /* for each joint of the graph */
    int ratio_count;
    const soa_loop_ratio *ratios;
    /* Number of parts that no joint connects to the world; the first link of each got a free
     * joint */
    int floating;
} soa_linkage_tree;

/* Chooses the tree.  Joints to keep come first; then joints that cannot be cut (friction that
 * depends on the direction; free joints with friction or rotors); then those with springs, rotors
 * or mimic, which are better kept; then joints by number of degrees of freedom, fewest first, so
 * that the cut joints leave few coordinates and rows; last, joints that would have to be reversed
 * and cannot (soa_joint_reverse).  Among equals: breadth first from the world, then in the order of
 * the definition.
 * Links of the tree are stored depth first.  If a joint is not at the origin of the link that it
 * carries, a massless link "LINK@JOINT" moves and LINK is fixed to it; so the frame LINK is the
 * same for every choice of cuts.  Allocates; O(joints log joints).  Release with
 * soa_linkage_tree_free, which accepts NULL.
 * The report says what is wrong: SOA_E_NAME, _TREE (a link that does not exist; joints to keep that
 * close a loop), _FRAME, _JOINT (a joint that must be cut or reversed and cannot), _MIMIC,
 * _ARGUMENT (also more than 500,000 links), _MEMORY.  Masses, axes and names that are used twice
 * are checked when the model is built. */
SOA_API soa_status soa_linkage_span(const soa_linkage_def *def, soa_linkage_tree **tree,
                                    soa_report *report);
SOA_API void soa_linkage_tree_free(soa_linkage_tree *tree);

/* --- WD89's binary tree (its section 2.1) ----------------------------------------------------- */

typedef enum soa_item_kind {
    SOA_ITEM_SUCCESSOR,   /* a body and the joint that carries it; also item 0, the inertial link */
    SOA_ITEM_TERMINATING, /* no body: the joint at which a loop was cut */
    SOA_ITEM_CONNECTOR    /* no body and no joint: attaches one more joint to its body */
} soa_item_kind;

/* Items are numbered as in WD89: bodies 1 to m, terminating links to m + r, then connectors.  Each
 * has at most one successor (a body or terminating link) and one connector.  Loop k is closed
 * when
 *     T(0 .. m + 1 + k) = T(0 .. the connector whose end is k),                      WD89 (8), (9)
 * where T is the product of placements and joint maps on the way. */
typedef struct soa_binary_item {
    soa_item_kind kind;
    int predecessor; /* an item; -1 for the inertial link */
    int successor;   /* an item; 0: none */
    int connector;   /* an item; 0: none */
    /* The body; connector: the body it is fixed to; terminating: the body that carries the joint */
    int body;
    /* terminating: its loop; connector: the loop that ends there; else -1 */
    int loop;
    /* in the predecessor; for a successor or terminating link: before the motion of its joint */
    soa_frame placement;
} soa_binary_item;
/* Loops connect frames of the model (link1 and link2 are frames).  items NULL: only the count.
 * Allocates temporary memory.  SOA_E_MEMORY: also if `room` items are too few.  SOA_E_NAME: no such
 * frame.  SOA_E_FRAME. */
SOA_API soa_status soa_model_binary_tree(const soa_model *model, const soa_loop_def *loops,
                                         int loop_count, soa_binary_item *items, int room,
                                         int *count);

#ifdef __cplusplus
}
#endif
#endif
