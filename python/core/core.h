/* core.h  the compiled part of the Python package: trees of bodies, and the calls on them that are
 * made most often.
 *
 * One Python type, Tree, holds a soa_model and a pool of work spaces.  Its methods are rows of one
 * table (calls.c): names and kinds of the arguments, shapes of the results, and the C function.  One
 * driver (driver.c) checks arguments, makes the results and runs a state or many of them.
 * Everything else of the library is reached from Python through ctypes, in the same shared object.
 *
 * python/soa/_errors.py turns a status into an exception. */
#ifndef SOA_PYTHON_CORE_H
#define SOA_PYTHON_CORE_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <soa/soa.h>
#include <stdbool.h>

/* A work space that waits in the pool of its tree. */
typedef struct pooled {
    struct pooled *next;
    soa_work *work;
    soa_batch *batch;
} pooled;

typedef struct tree {
    PyObject_HEAD
    const soa_model *model;
    int nq, nv, bodies;
    bool owned;            /* the model is freed with the tree     */
    _Atomic(bool) loops;   /* say once that loops are left out     */
    _Atomic(int) lock;     /* of `free`                            */
    pooled *free;          /* work spaces that no thread uses      */
} tree;

/* A work space (and, if wanted, a batch) for one thread.  NULL: no memory.  Needs no GIL. */
pooled *tree_take(tree *self, bool batch);
void tree_give(tree *self, pooled *space);

/* --- arguments and results -------------------------------------------------------------------- */
enum { MOST_PARAMETERS = 8, MOST_OUTPUTS = 3, MOST_WRENCHES = 64, MOST_FRAMES = 64 };

typedef enum kind {
    END,
    POSITION,  /* nq numbers                                                    */
    VELOCITY,  /* nv numbers                                                    */
    SIX,       /* 6 numbers                                                     */
    NUMBER,    /* one float, the same for all states                            */
    FRAME,     /* a frame, by name or number                                    */
    FRAMES,    /* one frame or a sequence of them                               */
    AXES,      /* "world" or "body"                                             */
    FACTOR,    /* a number from 0 to 7: soa_factor                              */
    WRENCHES   /* a sequence of objects with frame, axes and value              */
} kind;

typedef struct parameter {
    const char *name;
    kind kind;
    bool needed;
} parameter;

/* Lengths of results: a number of 1 or more, or one of these. */
enum { NONE = 0, NQ = -1, NV = -2, TEN_BODIES = -3, SIX_FRAMES = -4, SCALAR = -5 };

typedef struct call {
    tree *self;
    const void *in[MOST_PARAMETERS]; /* by number of the parameter; NULL: not given */
    void *out[MOST_OUTPUTS];
    double number;
    int frames[MOST_FRAMES];
    int frame_count;
    soa_axes axes;
    int factor;
    soa_wrench wrenches[MOST_WRENCHES];
    int wrench_count;
} call;

typedef soa_status run_function(const soa_model *model, soa_work *work, const call *c);
typedef soa_status batch_function(const soa_model *model, soa_batch *batch, long count,
                                  const call *c);

typedef struct spec {
    const char *name;
    parameter parameters[MOST_PARAMETERS + 1];
    int outputs[MOST_OUTPUTS][2];
    run_function *run;
    run_function *run_float;     /* NULL: float64 only           */
    batch_function *batch;       /* NULL: one state after another */
    batch_function *batch_float;
} spec;

/* Says that the loops of a model are not in the result, if that has to be said.  False: an
 * exception. */
bool note_loops(tree *self, const char *method);
PyObject *run_spec(tree *self, const spec *s, PyObject *const *arguments, Py_ssize_t count,
                   PyObject *names);
extern PyMethodDef tree_calls[];

/* Most threads that a call on many states uses. */
extern _Atomic(int) core_threads;
int core_import_numpy(void);
/* read_yaml(text, resolve): resolve makes a value of a scalar without quotes. */
PyObject *core_read_yaml(PyObject *module, PyObject *arguments);
#endif
