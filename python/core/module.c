/* module.c  the module soa._core and its type Tree. */
#include "core.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

/* --- the pool of work spaces ------------------------------------------------------------------ */
/* The lock is held for two instructions; threads that find it taken let others run. */
static void lock(tree *self) {
    int open = 0;
    while (!atomic_compare_exchange_weak_explicit(&self->lock, &open, 1, memory_order_acquire,
                                                  memory_order_relaxed)) {
        open = 0;
    }
}
static void unlock(tree *self) {
    atomic_store_explicit(&self->lock, 0, memory_order_release);
}

static void free_pooled(pooled *space) {
    soa_work_free(space->work);
    soa_batch_free(space->batch);
    free(space);
}

pooled *tree_take(tree *self, bool batch) {
    lock(self);
    pooled *space = self->free;
    if (space) self->free = space->next;
    unlock(self);
    if (!space) space = calloc(1, sizeof *space);
    if (!space) return NULL;
    const bool good =
        (space->work || soa_work_create(self->model, &space->work) == SOA_OK) &&
        (!batch || space->batch || soa_batch_create(self->model, &space->batch) == SOA_OK);
    if (good) return space;
    free_pooled(space);
    return NULL;
}

void tree_give(tree *self, pooled *space) {
    lock(self);
    space->next = self->free;
    self->free = space;
    unlock(self);
}

/* --- the type --------------------------------------------------------------------------------- */
static PyObject *tree_new(PyTypeObject *type, PyObject *arguments, PyObject *names) {
    static char *keywords[] = {"address", "owned", NULL};
    unsigned long long address = 0;
    int owned = 1;
    if (!PyArg_ParseTupleAndKeywords(arguments, names, "K|p", keywords, &address, &owned))
        return NULL;
    if (!address) {
        PyErr_SetString(PyExc_ValueError, "a model at address 0");
        return NULL;
    }
    allocfunc allocate = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
    tree *self = (tree *)allocate(type, 0);
    if (!self) return NULL;
    self->model = (const soa_model *)(uintptr_t)address;
    self->owned = owned != 0;
    self->nq = soa_model_nq(self->model);
    self->nv = soa_model_nv(self->model);
    self->bodies = soa_model_body_count(self->model);
    return (PyObject *)self;
}

static void tree_dealloc(PyObject *object) {
    tree *self = (tree *)object;
    PyTypeObject *type = Py_TYPE(object);
    while (self->free) {
        pooled *space = self->free;
        self->free = space->next;
        free_pooled(space);
    }
    if (self->owned) soa_model_free(self->model);
    freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
    release(object);
    Py_DECREF(type);
}

static PyObject *get_nq(PyObject *self, void *unused) {
    (void)unused;
    return PyLong_FromLong(((tree *)self)->nq);
}
static PyObject *get_nv(PyObject *self, void *unused) {
    (void)unused;
    return PyLong_FromLong(((tree *)self)->nv);
}
static PyObject *get_bodies(PyObject *self, void *unused) {
    (void)unused;
    return PyLong_FromLong(((tree *)self)->bodies);
}
static PyObject *get_address(PyObject *self, void *unused) {
    (void)unused;
    return PyLong_FromUnsignedLongLong((uintptr_t)((tree *)self)->model);
}
static PyObject *get_loops(PyObject *self, void *unused) {
    (void)unused;
    return PyBool_FromLong(atomic_load(&((tree *)self)->loops));
}
static int set_loops(PyObject *self, PyObject *value, void *unused) {
    (void)unused;
    const int on = value ? PyObject_IsTrue(value) : 0;
    if (on < 0) return -1;
    atomic_store(&((tree *)self)->loops, on != 0);
    return 0;
}
static PyGetSetDef tree_properties[] = {
    {"nq", get_nq, NULL, "Numbers of a configuration q.", NULL},
    {"nv", get_nv, NULL, "Degrees of freedom: numbers of v, a and tau.", NULL},
    {"body_count", get_bodies, NULL, "Moving bodies.", NULL},
    {"_address", get_address, NULL, "The soa_model, for ctypes.", NULL},
    {"_says_loops", get_loops, set_loops, "Whether the next call warns of loops left out.", NULL},
    {NULL, NULL, NULL, NULL, NULL}};

static PyType_Slot tree_slots[] = {{Py_tp_new, tree_new},
                                   {Py_tp_dealloc, tree_dealloc},
                                   {Py_tp_methods, tree_calls},
                                   {Py_tp_getset, tree_properties},
                                   {Py_tp_doc, "A tree of bodies: a soa_model and work spaces."},
                                   {0, NULL}};
static PyType_Spec tree_spec = {.name = "soa._core.Tree",
                                .basicsize = sizeof(tree),
                                .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
                                .slots = tree_slots};

/* --- the module ------------------------------------------------------------------------------- */
static PyObject *set_threads(PyObject *module, PyObject *argument) {
    (void)module;
    const long count = PyLong_AsLong(argument);
    if (count == -1 && PyErr_Occurred()) return NULL;
    if (count < 1) {
        PyErr_Format(PyExc_ValueError, "%ld threads, expected 1 or more", count);
        return NULL;
    }
    atomic_store(&core_threads, (int)(count > 1024 ? 1024 : count));
    Py_RETURN_NONE;
}
static PyObject *get_threads(PyObject *module, PyObject *unused) {
    (void)module;
    (void)unused;
    return PyLong_FromLong(atomic_load(&core_threads));
}
static PyMethodDef functions[] = {
    {"read_yaml", core_read_yaml, METH_VARARGS, "The text of a scenario as dicts and lists."},
    {"set_threads", set_threads, METH_O, "Most threads that a call on many states uses."},
    {"get_threads", get_threads, METH_NOARGS, "Most threads that a call on many states uses."},
    {NULL, NULL, 0, NULL}};

static int execute(PyObject *module) {
    if (core_import_numpy()) return -1;
    PyObject *type = PyType_FromSpec(&tree_spec);
    if (!type) return -1;
    if (PyModule_AddObject(module, "Tree", type)) {
        Py_DECREF(type);
        return -1;
    }
    if (PyModule_AddStringConstant(module, "instruction_set", soa_instruction_set())) return -1;
    return PyModule_AddStringConstant(module, "version", soa_version());
}
static PyModuleDef_Slot slots[] = {{Py_mod_exec, execute},
#if defined(Py_GIL_DISABLED) && defined(Py_mod_gil)
                                   {Py_mod_gil, Py_MOD_GIL_NOT_USED},
#endif
                                   {0, NULL}};
static PyModuleDef definition = {.m_base = PyModuleDef_HEAD_INIT,
                                 .m_name = "soa._core",
                                 .m_doc = "The compiled part of soa.",
                                 .m_methods = functions,
                                 .m_slots = slots};
PyMODINIT_FUNC PyInit__core(void) {
    return PyModuleDef_Init(&definition);
}
