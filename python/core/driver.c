/* driver.c  one call: arguments checked, results made, one state or many of them computed.
 *
 * Arrays are used where they are (no copy) if they are C-contiguous and of the right type.  An
 * argument of two dimensions, (N, n), asks for N states; all array arguments then have N rows.
 * Many states run without the GIL, on several threads where that pays; the bits of a state's result
 * do not depend on that. */
#include "core.h"

#define NPY_NO_DEPRECATED_API NPY_1_7_API_VERSION
#define NPY_TARGET_VERSION NPY_1_22_API_VERSION
#include <numpy/arrayobject.h>
#include <math.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

/* A thread costs about 20 microseconds to start; so many states take several times that. */
enum { STATES_PER_THREAD = 2048, MOST_THREADS = 64 };

_Atomic(int) core_threads = 1;

int core_import_numpy(void) {
    import_array1(-1);
    return 0;
}

/* What is known about a call while its arguments are read. */
typedef struct reading {
    const spec *spec;
    tree *self;
    PyObject *arrays[MOST_PARAMETERS]; /* kept until the call is over */
    int type;                          /* NPY_DOUBLE or NPY_FLOAT; 0: not known yet */
    npy_intp count;                    /* rows; -1: a single state, -2: not known yet */
    int first;                         /* the parameter that decided type and count */
} reading;

/* --- array arguments -------------------------------------------------------------------------- */

static int length_of(const tree *self, kind kind) {
    if (kind == POSITION) return self->nq;
    if (kind == VELOCITY) return self->nv;
    return 6;
}

/* "(7,)" or "(100, 7)" */
static void shape_text(char *text, size_t size, int dimensions, const npy_intp *shape) {
    size_t at = (size_t)snprintf(text, size, "(");
    for (int i = 0; i < dimensions && at < size; i++)
        at += (size_t)snprintf(text + at, size - at, i ? ", %ld" : "%ld", (long)shape[i]);
    if (at < size) snprintf(text + at, size - at, dimensions == 1 ? ",)" : ")");
}

static void bad_shape(const reading *r, int at, PyArrayObject *array) {
    char given[160];
    char wanted[160];
    const parameter *p = &r->spec->parameters[at];
    const int length = length_of(r->self, p->kind);
    shape_text(given, sizeof given, PyArray_NDIM(array), PyArray_SHAPE(array));
    if (r->count == -2)
        snprintf(wanted, sizeof wanted, "(%d,) for one state or (N, %d) for many", length, length);
    else if (r->count == -1)
        snprintf(wanted, sizeof wanted, "(%d,), because %s is one state", length,
                 r->spec->parameters[r->first].name);
    else
        snprintf(wanted, sizeof wanted, "(%ld, %d), because %s has %ld states", (long)r->count,
                 length, r->spec->parameters[r->first].name, (long)r->count);
    PyErr_Format(PyExc_ValueError, "%s: %s has shape %s, expected %s", r->spec->name, p->name,
                 given, wanted);
}

static const char *type_name(int type) {
    return type == NPY_FLOAT ? "float32" : "float64";
}

/* The array of an argument, as it is or converted from a list or from other strides; NULL with an
 * exception. */
static PyArrayObject *as_array(const reading *r, int at, PyObject *given) {
    const char *name = r->spec->parameters[at].name;
    if (!PyArray_Check(given)) {
        PyObject *made = PyArray_FROMANY(given, NPY_DOUBLE, 0, 0, NPY_ARRAY_CARRAY_RO);
        if (!made)
            PyErr_Format(PyExc_TypeError,
                         "%s: %s is a %R, expected an array or a sequence of numbers",
                         r->spec->name, name, (PyObject *)Py_TYPE(given));
        return (PyArrayObject *)made;
    }
    PyArrayObject *array = (PyArrayObject *)given;
    const int type = PyArray_TYPE(array);
    if (type != NPY_DOUBLE && type != NPY_FLOAT) {
        PyErr_Format(PyExc_TypeError,
                     "%s: %s has dtype %S, expected float64 or float32; convert it with "
                     "%s.astype(float)",
                     r->spec->name, name, (PyObject *)PyArray_DESCR(array), name);
        return NULL;
    }
    if (PyArray_ISCARRAY_RO(array)) {
        Py_INCREF(given);
        return array;
    }
    return (PyArrayObject *)PyArray_FROMANY(given, type, 0, 0, NPY_ARRAY_CARRAY_RO);
}

/* Reads the array argument number `at` into the call. */
static bool read_array(reading *r, int at, PyObject *given, call *c) {
    PyArrayObject *array = as_array(r, at, given);
    if (!array) return false;
    r->arrays[at] = (PyObject *)array;
    const int type = PyArray_TYPE(array);
    const int dimensions = PyArray_NDIM(array);
    const npy_intp *shape = PyArray_SHAPE(array);
    const int length = length_of(r->self, r->spec->parameters[at].kind);
    const npy_intp count = dimensions == 2 ? shape[0] : -1;
    if (dimensions < 1 || dimensions > 2 || shape[dimensions - 1] != length ||
        (r->count != -2 && count != r->count)) {
        bad_shape(r, at, array);
        return false;
    }
    if (r->type && type != r->type) {
        PyErr_Format(PyExc_TypeError, "%s: %s is %s, but %s is %s; give both the same dtype",
                     r->spec->name, r->spec->parameters[at].name, type_name(type),
                     r->spec->parameters[r->first].name, type_name(r->type));
        return false;
    }
    if (!r->type) r->first = at;
    r->type = type;
    r->count = count;
    c->in[at] = PyArray_DATA(array);
    return true;
}

/* --- other arguments -------------------------------------------------------------------------- */

/* Calls a function of soa._errors, with arguments as in Py_BuildValue. */
static void call_errors(const char *function, const char *format, ...) {
    PyObject *errors = PyImport_ImportModule("soa._errors");
    PyObject *called = errors ? PyObject_GetAttrString(errors, function) : NULL;
    PyObject *arguments = NULL;
    if (called) {
        va_list list;
        va_start(list, format);
        arguments = format ? Py_VaBuildValue(format, list) : PyTuple_New(0);
        va_end(list);
    }
    PyObject *result = arguments ? PyObject_CallObject(called, arguments) : NULL;
    Py_XDECREF(result);
    Py_XDECREF(arguments);
    Py_XDECREF(called);
    Py_XDECREF(errors);
}

/* The number of a frame given by name or number; -1 with an exception. */
static int read_frame(const tree *self, PyObject *given) {
    const int frames = soa_model_frame_count(self->model);
    if (PyUnicode_Check(given)) {
        const char *name = PyUnicode_AsUTF8AndSize(given, NULL);
        if (!name) return -1;
        const int frame = soa_model_find_frame(self->model, name);
        if (frame < 0) call_errors("unknown_frame", "OO", self, given);
        return frame;
    }
    const long number = PyLong_AsLong(given);
    if (number == -1 && PyErr_Occurred()) {
        PyErr_Format(PyExc_TypeError, "frame is a %R, expected a name or a number",
                     (PyObject *)Py_TYPE(given));
        return -1;
    }
    if (number < 0 || number >= frames) {
        PyErr_Format(PyExc_IndexError, "frame %ld: the model has frames 0 (the world) to %d",
                     number, frames - 1);
        return -1;
    }
    return (int)number;
}

static bool read_frames(const tree *self, PyObject *given, call *c) {
    if (PyUnicode_Check(given) || PyLong_Check(given)) {
        c->frames[0] = read_frame(self, given);
        c->frame_count = 1;
        return c->frames[0] >= 0;
    }
    const Py_ssize_t count = PySequence_Size(given);
    if (count < 1 || count > MOST_FRAMES) {
        if (!PyErr_Occurred())
            PyErr_Format(PyExc_ValueError, "%zd frames given, expected 1 to %d", count,
                         MOST_FRAMES);
        return false;
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        PyObject *item = PySequence_GetItem(given, i);
        c->frames[i] = item ? read_frame(self, item) : -1;
        Py_XDECREF(item);
        if (c->frames[i] < 0) return false;
    }
    c->frame_count = (int)count;
    return true;
}

static bool read_axes(PyObject *given, soa_axes *axes) {
    if (PyUnicode_Check(given) && PyUnicode_CompareWithASCIIString(given, "world") == 0) {
        *axes = SOA_AXES_WORLD;
        return true;
    }
    if (PyUnicode_Check(given) && PyUnicode_CompareWithASCIIString(given, "body") == 0) {
        *axes = SOA_AXES_BODY;
        return true;
    }
    PyErr_Format(PyExc_ValueError, "axes is %R, expected 'world' or 'body'", given);
    return false;
}

/* One wrench: an object with frame, axes and value (soa.Wrench). */
static bool read_wrench(const tree *self, PyObject *given, soa_wrench *wrench) {
    PyObject *frame = PyObject_GetAttrString(given, "frame");
    PyObject *axes = PyObject_GetAttrString(given, "axes");
    PyObject *value = PyObject_GetAttrString(given, "value");
    PyObject *numbers = NULL;
    bool good = frame && axes && value;
    if (!good) {
        PyErr_Format(PyExc_TypeError, "a wrench is a %R, expected a soa.Wrench",
                     (PyObject *)Py_TYPE(given));
    }
    if (good) {
        wrench->frame = read_frame(self, frame);
        good = wrench->frame >= 0 && read_axes(axes, &wrench->axes);
    }
    if (good) {
        numbers = PyArray_FROMANY(value, NPY_DOUBLE, 0, 0, NPY_ARRAY_CARRAY_RO);
        good = numbers != NULL;
    }
    if (good && PyArray_NDIM((PyArrayObject *)numbers) == 2) {
        PyErr_SetString(PyExc_ValueError,
                        "a wrench has two dimensions, expected 6 numbers, the same for all states; "
                        "for one in each state give tau + jacobian_transpose_mul(q, frame, f)");
        good = false;
    }
    if (good && (PyArray_NDIM((PyArrayObject *)numbers) != 1 ||
                 PyArray_SIZE((PyArrayObject *)numbers) != 6)) {
        PyErr_Format(PyExc_ValueError, "a wrench has %zd numbers, expected 6: moment, force",
                     (Py_ssize_t)PyArray_SIZE((PyArrayObject *)numbers));
        good = false;
    }
    if (good) memcpy(wrench->value, PyArray_DATA((PyArrayObject *)numbers), sizeof wrench->value);
    Py_XDECREF(numbers);
    Py_XDECREF(value);
    Py_XDECREF(axes);
    Py_XDECREF(frame);
    return good;
}

static bool read_wrenches(const tree *self, PyObject *given, call *c) {
    if (!PySequence_Check(given) || PyDict_Check(given) || PyUnicode_Check(given)) {
        call_errors("bad_wrenches", "(O)", given);
        return false;
    }
    const Py_ssize_t count = PySequence_Size(given);
    if (count < 0 || count > MOST_WRENCHES) {
        if (!PyErr_Occurred())
            PyErr_Format(PyExc_ValueError, "%zd wrenches given, expected at most %d", count,
                         MOST_WRENCHES);
        return false;
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        PyObject *item = PySequence_GetItem(given, i);
        const bool good = item && read_wrench(self, item, &c->wrenches[i]);
        Py_XDECREF(item);
        if (!good) return false;
    }
    c->wrench_count = (int)count;
    return true;
}

static bool read_number(const reading *r, int at, PyObject *given, double *number) {
    *number = PyFloat_AsDouble(given);
    if (*number == -1 && PyErr_Occurred()) {
        PyErr_Format(PyExc_TypeError, "%s: %s is a %R, expected a number", r->spec->name,
                     r->spec->parameters[at].name, (PyObject *)Py_TYPE(given));
        return false;
    }
    if (!isfinite(*number)) {
        call_errors("bad_number", "ssO", r->spec->name, r->spec->parameters[at].name, given);
        return false;
    }
    return true;
}

/* Reads the argument number `at`. */
static bool read_argument(reading *r, int at, PyObject *given, call *c) {
    switch (r->spec->parameters[at].kind) {
    case POSITION:
    case VELOCITY:
    case SIX: return read_array(r, at, given, c);
    case NUMBER: return read_number(r, at, given, &c->number);
    case FRAME:
        c->frames[0] = read_frame(r->self, given);
        c->frame_count = 1;
        return c->frames[0] >= 0;
    case FRAMES: return read_frames(r->self, given, c);
    case AXES: return read_axes(given, &c->axes);
    case WRENCHES: return read_wrenches(r->self, given, c);
    case FACTOR: {
        const long number = PyLong_AsLong(given);
        c->factor = (int)number;
        return !(number == -1 && PyErr_Occurred());
    }
    case END: break;
    }
    return false;
}

/* --- names of arguments ----------------------------------------------------------------------- */

static int parameter_count(const spec *s) {
    int count = 0;
    while (count < MOST_PARAMETERS && s->parameters[count].kind != END) count++;
    return count;
}

/* The number of the parameter of that name; -1 with an exception. */
static int find_parameter(const spec *s, PyObject *name) {
    const int count = parameter_count(s);
    for (int i = 0; i < count; i++)
        if (PyUnicode_CompareWithASCIIString(name, s->parameters[i].name) == 0) return i;
    char list[200] = "";
    for (int i = 0; i < count; i++) {
        strncat(list, i ? ", " : "", sizeof list - strlen(list) - 1);
        strncat(list, s->parameters[i].name, sizeof list - strlen(list) - 1);
    }
    PyErr_Format(PyExc_TypeError, "%s has no argument %R; it takes %s", s->name, name, list);
    return -1;
}

/* Places the arguments, by position and by name, into `given`. */
static bool place_arguments(const spec *s, PyObject *const *arguments, Py_ssize_t count,
                            PyObject *names, PyObject **given) {
    const int most = parameter_count(s);
    if (count > most) {
        PyErr_Format(PyExc_TypeError, "%s takes at most %d arguments, %zd given", s->name, most,
                     count);
        return false;
    }
    for (Py_ssize_t i = 0; i < count; i++) given[i] = arguments[i];
    const Py_ssize_t named = names ? PyTuple_Size(names) : 0;
    for (Py_ssize_t i = 0; i < named; i++) {
        PyObject *name = PyTuple_GetItem(names, i);
        const int at = find_parameter(s, name);
        if (at < 0) return false;
        if (given[at]) {
            PyErr_Format(PyExc_TypeError, "%s: argument %R is given twice", s->name, name);
            return false;
        }
        given[at] = arguments[count + i];
    }
    for (int i = 0; i < most; i++) {
        if (given[i] == Py_None) given[i] = NULL;
        if (s->parameters[i].needed && !given[i]) {
            PyErr_Format(PyExc_TypeError, "%s needs the argument %s", s->name,
                         s->parameters[i].name);
            return false;
        }
    }
    return true;
}

/* --- results ---------------------------------------------------------------------------------- */

static npy_intp dimension(const call *c, int code) {
    switch (code) {
    case NQ: return c->self->nq;
    case NV: return c->self->nv;
    case TEN_BODIES: return 10 * (npy_intp)c->self->bodies;
    case SIX_FRAMES: return 6 * (npy_intp)c->frame_count;
    default: return code;
    }
}

/* Numbers of one state's result. */
static npy_intp result_size(const call *c, const int codes[2]) {
    npy_intp size = 1;
    for (int i = 0; i < 2 && codes[i] != NONE && codes[i] != SCALAR; i++)
        size *= dimension(c, codes[i]);
    return size;
}

static PyObject *make_result(const reading *r, const call *c, const int codes[2]) {
    npy_intp shape[3];
    int dimensions = 0;
    if (r->count >= 0) shape[dimensions++] = r->count;
    for (int i = 0; i < 2 && codes[i] != NONE && codes[i] != SCALAR; i++)
        shape[dimensions++] = dimension(c, codes[i]);
    return PyArray_SimpleNew(dimensions, shape, r->type);
}

/* --- running ---------------------------------------------------------------------------------- */

typedef struct job {
    const reading *r;
    const call *c;
    npy_intp first, count;
    soa_status status;
    int body;
    npy_intp state; /* at fault */
} job;

static size_t number_size(const reading *r) {
    return r->type == NPY_FLOAT ? sizeof(float) : sizeof(double);
}

/* The call of the states from `state` on. */
static call call_at(const job *j, npy_intp state) {
    call c = *j->c;
    const size_t size = number_size(j->r);
    for (int i = 0; i < MOST_PARAMETERS; i++) {
        if (!c.in[i]) continue;
        const int length = length_of(c.self, j->r->spec->parameters[i].kind);
        c.in[i] = (const char *)c.in[i] + size * (size_t)(state * length);
    }
    for (int i = 0; i < MOST_OUTPUTS; i++)
        if (c.out[i])
            c.out[i] = (char *)c.out[i] +
                       size * (size_t)(state * result_size(&c, j->r->spec->outputs[i]));
    return c;
}

static void run_one_by_one(job *j, pooled *space) {
    const spec *s = j->r->spec;
    run_function *run = j->r->type == NPY_FLOAT ? s->run_float : s->run;
    for (npy_intp i = j->first; i < j->first + j->count; i++) {
        const call c = call_at(j, i);
        j->status = run(c.self->model, space->work, &c);
        if (j->status == SOA_OK) continue;
        j->body = soa_work_failed_body(space->work);
        j->state = i;
        return;
    }
}

static void run_lanes(job *j, pooled *space) {
    const spec *s = j->r->spec;
    const call c = call_at(j, j->first);
    batch_function *run = j->r->type == NPY_FLOAT ? s->batch_float : s->batch;
    j->status = run(c.self->model, space->batch, (long)j->count, &c);
    if (j->status == SOA_OK) return;
    j->body = soa_batch_failed_body(space->batch);
    j->state = j->first + soa_batch_failed_state(space->batch);
}

static void *run_job(void *data) {
    job *j = data;
    const bool lanes = j->r->spec->batch && j->c->wrench_count == 0 && j->c->in[0];
    pooled *space = tree_take(j->c->self, lanes);
    if (!space) {
        j->status = SOA_E_MEMORY;
        return NULL;
    }
    if (lanes)
        run_lanes(j, space);
    else
        run_one_by_one(j, space);
    tree_give(j->c->self, space);
    return NULL;
}

/* Runs all states and returns the first that failed, if any did. */
static job run_many(const reading *r, const call *c) {
    job jobs[MOST_THREADS];
    pthread_t threads[MOST_THREADS];
    int parts = atomic_load(&core_threads);
    const npy_intp most = 1 + r->count / STATES_PER_THREAD;
    if (parts > most) parts = (int)most;
    if (parts > MOST_THREADS) parts = MOST_THREADS;
    int started = 0;
    for (int i = parts - 1; i >= 0; i--) {
        const npy_intp first = r->count * i / parts;
        const npy_intp end = r->count * (i + 1) / parts;
        jobs[i] = (job){.r = r, .c = c, .first = first, .count = end - first, .body = -1};
    }
    for (int i = 1; i < parts; i++) {
        if (pthread_create(&threads[i], NULL, run_job, &jobs[i])) break;
        started = i;
    }
    run_job(&jobs[0]);
    for (int i = started + 1; i < parts; i++) run_job(&jobs[i]); /* no more threads to be had */
    for (int i = 1; i <= started; i++) pthread_join(threads[i], NULL);
    for (int i = 0; i < parts; i++)
        if (jobs[i].status != SOA_OK) return jobs[i];
    return jobs[0];
}

static job run_single(const reading *r, const call *c) {
    job j = {.r = r, .c = c, .count = 1, .body = -1, .state = -1};
    pooled *space = tree_take(c->self, false);
    if (!space) {
        j.status = SOA_E_MEMORY;
        return j;
    }
    run_function *run = r->type == NPY_FLOAT ? r->spec->run_float : r->spec->run;
    j.status = run(c->self->model, space->work, c);
    if (j.status != SOA_OK) j.body = soa_work_failed_body(space->work);
    tree_give(c->self, space);
    return j;
}

/* --- the call --------------------------------------------------------------------------------- */

/* Raises what soa._errors makes of a failed call: it sees the arguments and names the number. */
static void raise_status(const reading *r, const job *j) {
    PyObject *list = PyList_New(0);
    for (int i = 0; list && i < MOST_PARAMETERS; i++) {
        if (!r->arrays[i]) continue;
        PyObject *pair = Py_BuildValue("sO", r->spec->parameters[i].name, r->arrays[i]);
        if (pair) PyList_Append(list, pair);
        Py_XDECREF(pair);
    }
    if (list)
        call_errors("raise_call", "OsiinO", r->self, r->spec->name, (int)j->status, j->body,
                    (Py_ssize_t)j->state, list);
    Py_XDECREF(list);
}

static bool check_type(reading *r) {
    if (!r->type) r->type = NPY_DOUBLE;
    if (r->count == -2) r->count = -1;
    if (r->type == NPY_DOUBLE) return true;
    if (!r->spec->run_float) {
        PyErr_Format(PyExc_TypeError,
                     "%s works in float64 only, %s is float32; aba, rnea and mass take float32",
                     r->spec->name, r->spec->parameters[r->first].name);
        return false;
    }
    return true;
}

static bool make_results(const reading *r, call *c, PyObject **results, int *count) {
    *count = 0;
    while (*count < MOST_OUTPUTS && r->spec->outputs[*count][0] != NONE) {
        PyObject *result = make_result(r, c, r->spec->outputs[*count]);
        if (!result) return false;
        results[*count] = result;
        c->out[*count] = PyArray_DATA((PyArrayObject *)result);
        ++*count;
    }
    return true;
}

static bool compute(reading *r, const call *c) {
    job j;
    if (r->count < 0) {
        j = run_single(r, c);
    } else if (r->count == 0) {
        return true;
    } else {
        PyThreadState *state = PyEval_SaveThread();
        j = run_many(r, c);
        PyEval_RestoreThread(state);
    }
    if (j.status == SOA_OK) return true;
    raise_status(r, &j);
    return false;
}

/* One array, a float for a scalar of one state, or a tuple of these. */
static PyObject *pack_results(const reading *r, PyObject **results, int count) {
    for (int i = 0; i < count; i++) {
        if (r->count >= 0 || r->spec->outputs[i][0] != SCALAR) continue;
        const double *number = PyArray_DATA((PyArrayObject *)results[i]);
        PyObject *value = PyFloat_FromDouble(*number);
        if (!value) return NULL;
        Py_DECREF(results[i]);
        results[i] = value;
    }
    if (count == 1) {
        Py_INCREF(results[0]);
        return results[0];
    }
    PyObject *tuple = PyTuple_New(count);
    for (int i = 0; tuple && i < count; i++) {
        Py_INCREF(results[i]);
        PyTuple_SetItem(tuple, i, results[i]);
    }
    return tuple;
}

bool note_loops(tree *self, const char *method) {
    if (!atomic_load_explicit(&self->loops, memory_order_relaxed)) return true;
    if (!atomic_exchange(&self->loops, false)) return true; /* another thread says it */
    call_errors("warn_loops", "Os", self, method);
    return !PyErr_Occurred();
}

PyObject *run_spec(tree *self, const spec *s, PyObject *const *arguments, Py_ssize_t count,
                   PyObject *names) {
    PyObject *given[MOST_PARAMETERS] = {NULL};
    if (!place_arguments(s, arguments, count, names, given)) return NULL;
    reading r = {.spec = s, .self = self, .count = -2};
    call c;
    memset(&c, 0, offsetof(call, frames));
    c.self = self;
    c.number = 1;
    c.axes = SOA_AXES_WORLD;
    c.frame_count = 0;
    c.wrench_count = 0;
    PyObject *results[MOST_OUTPUTS] = {NULL};
    int result_count = 0;
    PyObject *answer = NULL;
    bool good = true;
    for (int i = 0; good && i < MOST_PARAMETERS; i++)
        if (given[i]) good = read_argument(&r, i, given[i], &c);
    if (good && c.wrench_count > 0 && r.type == NPY_FLOAT) {
        PyErr_Format(PyExc_TypeError, "%s: wrenches need float64 arrays", s->name);
        good = false;
    }
    if (good && check_type(&r) && make_results(&r, &c, results, &result_count) && compute(&r, &c))
        answer = pack_results(&r, results, result_count);
    for (int i = 0; i < MOST_OUTPUTS; i++) Py_XDECREF(results[i]);
    for (int i = 0; i < MOST_PARAMETERS; i++) Py_XDECREF(r.arrays[i]);
    return answer;
}
