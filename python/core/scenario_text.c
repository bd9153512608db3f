/* scenario_text.c  the text of a scenario as Python's dicts and lists
 *
 * It is read by the reader of scenario files, so that what Python sees is what a run sees: aliases,
 * merges and limits included.  Which plain words are numbers is decided in Python. */
#include "core.h"
#include "../../src/scenario/scenario_internal.h"
#include <string.h>

static PyObject *value_of(const soai_node *node, PyObject *resolve);

static PyObject *list_of(const soai_node *node, PyObject *resolve) {
    PyObject *list = PyList_New(node->count);
    for (int i = 0; list && i < node->count; ++i) {
        PyObject *item = value_of(node->items[i], resolve);
        if (!item || PyList_SetItem(list, i, item) < 0) Py_CLEAR(list);
    }
    return list;
}

static PyObject *map_of(const soai_node *node, PyObject *resolve) {
    PyObject *map = PyDict_New();
    for (int i = 0; map && i < node->count; ++i) {
        PyObject *item = value_of(node->items[i], resolve);
        if (!item || PyDict_SetItemString(map, node->keys[i]->text, item) < 0) Py_CLEAR(map);
        Py_XDECREF(item);
    }
    return map;
}

static PyObject *value_of(const soai_node *node, PyObject *resolve) {
    if (node->type == SOAI_LIST) return list_of(node, resolve);
    if (node->type == SOAI_MAP) return map_of(node, resolve);
    PyObject *text = PyUnicode_FromString(node->text);
    if (!text || !node->plain) return text;
    PyObject *value = PyObject_CallFunctionObjArgs(resolve, text, NULL);
    Py_DECREF(text);
    return value;
}

PyObject *core_read_yaml(PyObject *module, PyObject *arguments) {
    (void)module;
    const char *text = NULL;
    PyObject *resolve = NULL;
    if (!PyArg_ParseTuple(arguments, "sO", &text, &resolve)) return NULL;
    soa_report report = {.status = SOA_OK};
    soai_reader reader = {.file = "", .report = &report};
    soai_node *root = NULL;
    PyObject *made = NULL;
    if (!soai_yaml(&reader, text, strlen(text), &root))
        PyErr_SetString(PyExc_ValueError, report.text);
    else
        made = root ? value_of(root, resolve) : PyDict_New();
    soai_arena_free(&reader.tree);
    soai_arena_free(&reader.data);
    return made;
}
