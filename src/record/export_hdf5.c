/* export_hdf5.c  exports a journal as HDF5:
 *
 *    /               attributes program_version, export_version (texts), journal_version,
 *                    complete (numbers)
 *    /scenario       text of the scenario
 *    /t              [samples], attribute unit
 *    /signals/G/N    [samples], signal "G.N", attributes name and unit; a name without a point
 *                    becomes /signals/N. '/' becomes '_'. A name already in use gets _2, _3, ...
 *                    The attribute holds the original name.
 *    /events         [events] of {t, kind, text}
 *
 * The file is written through our own driver, which hides a full disk from the library
 * (export_driver.c). Each column is stored in chunks, shuffled and deflated if the library supports
 * it. No creation times are stored, so the same journal and the same library give the same file. */
#include "export.h"
#include "export_driver.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

enum { WHY = 160 };
typedef struct target {
    /* text: type of variable length; columns, groups: creation properties */
    hid_t file, text, columns, groups, access, signals;
    hid_t *set; /* data sets of the signals */
    double *column;
    soai_sink *sink;
    int open;  /* nonzero: the library could not close the file */
    int error; /* nonzero: a call or a write failed */
    char why[WHY];
} target;

static herr_t innermost(unsigned n, const H5E_error2_t *error, void *text) {
    if (n == 0) snprintf(text, WHY, "%s", error->desc ? error->desc : "");
    return 0;
}
/* Records the first negative result, with the library's message. */
static void ok(target *o, herr_t x) {
    if (x < 0 && !o->error) {
        o->error = 1;
        H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, innermost, o->why);
    }
    if (o->sink->error) o->error = 1;
}
static hid_t id(target *o, hid_t x) {
    ok(o, x < 0 ? -1 : 0);
    return x;
}

static void attribute(target *o, hid_t at, const char *name, hid_t type, const void *value) {
    if (o->error) return;
    const hid_t space = id(o, H5Screate(H5S_SCALAR)),
                a = id(o, H5Acreate2(at, name, type, space, H5P_DEFAULT, H5P_DEFAULT));
    if (a >= 0) {
        ok(o, H5Awrite(a, type, value));
        ok(o, H5Aclose(a));
    }
    if (space >= 0) ok(o, H5Sclose(space));
}
static void attribute_text(target *o, hid_t at, const char *name, const char *value) {
    attribute(o, at, name, o->text, &value);
}
static void attribute_number(target *o, hid_t at, const char *name, int value) {
    attribute(o, at, name, H5T_NATIVE_INT, &value);
}

/* Creation properties of data sets with `count` rows: chunks of at most `rows`. An empty data set
 * is not chunked. */
static hid_t layout(target *o, int64_t rows, int64_t count) {
    const hid_t p = id(o, H5Pcreate(H5P_DATASET_CREATE));
    const hsize_t chunk = (hsize_t)(rows < count ? rows : count);
    unsigned can = 0;
    if (p < 0) return p;
    ok(o, H5Pset_obj_track_times(p, 0));
    if (!count) return p;
    ok(o, H5Pset_chunk(p, 1, &chunk));
    if (H5Zfilter_avail(H5Z_FILTER_DEFLATE) > 0 &&
        H5Zget_filter_info(H5Z_FILTER_DEFLATE, &can) >= 0 &&
        (can & H5Z_FILTER_CONFIG_ENCODE_ENABLED)) {
        ok(o, H5Pset_shuffle(p));
        ok(o, H5Pset_deflate(p, 4));
    }
    return p;
}
static hid_t make_set(target *o, hid_t at, const char *name, hid_t type, hid_t made, int64_t rows) {
    const hsize_t size = (hsize_t)rows;
    if (o->error) return -1;
    const hid_t space = id(o, H5Screate_simple(1, &size, NULL));
    const hid_t set =
        space < 0 ? -1 : id(o, H5Dcreate2(at, name, type, space, H5P_DEFAULT, made, o->access));
    if (space >= 0) ok(o, H5Sclose(space));
    return set;
}
static void put_rows(target *o, hid_t set, hid_t type, int64_t first, int64_t count,
                     const void *data) {
    const hsize_t from = (hsize_t)first, size = (hsize_t)count;
    if (o->error) return;
    const hid_t memory = id(o, H5Screate_simple(1, &size, NULL)), space = id(o, H5Dget_space(set));
    if (memory >= 0 && space >= 0) {
        ok(o, H5Sselect_hyperslab(space, H5S_SELECT_SET, &from, NULL, &size, NULL));
        ok(o, H5Dwrite(set, type, memory, space, H5P_DEFAULT, data));
    }
    if (memory >= 0) ok(o, H5Sclose(memory));
    if (space >= 0) ok(o, H5Sclose(space));
}

/* --- signals ---------------------------------------------------------------------------------- */
enum { NAME_ROOM = SOA_JOURNAL_MAX_NAME + 32 };
/* Splits "G.N". The group is empty if there is no point. */
static void split(const char *signal, char group[NAME_ROOM], char name[NAME_ROOM]) {
    const char *point = strchr(signal, '.');
    const int whole = !point || point == signal || !point[1];
    snprintf(group, NAME_ROOM, "%.*s", whole ? 0 : (int)(point - signal), signal);
    snprintf(name, NAME_ROOM, "%s", whole ? signal : point + 1);
    for (int k = 0; k < 2; ++k) {
        char *word = k ? name : group;
        for (char *p = word; *p; ++p)
            if (*p == '/') *p = '_';
        if (!strcmp(word, ".")) word[0] = '_';
    }
}
static void make_signals(target *o, const soai_export *e) {
    char group[NAME_ROOM], name[NAME_ROOM];
    /* Create the groups first, so that no signal takes a group's name. */
    for (int i = 0; i < e->signal_count && !o->error; ++i) {
        split(soai_export_signal(e, i)->name, group, name);
        if (!group[0]) continue;
        const htri_t there = H5Lexists(o->signals, group, H5P_DEFAULT);
        ok(o, there);
        if (there == 0) {
            const hid_t g =
                id(o, H5Gcreate2(o->signals, group, H5P_DEFAULT, o->groups, H5P_DEFAULT));
            if (g >= 0) ok(o, H5Gclose(g));
        }
    }
    for (int i = 0; i < e->signal_count && !o->error; ++i) {
        const soa_signal *signal = soai_export_signal(e, i);
        split(signal->name, group, name);
        const hid_t at = group[0] ? id(o, H5Gopen2(o->signals, group, H5P_DEFAULT)) : o->signals;
        const size_t length = strlen(name);
        htri_t taken = at < 0 ? -1 : H5Lexists(at, name, H5P_DEFAULT);
        for (int k = 2; taken > 0; ++k) {
            snprintf(name + length, NAME_ROOM - length, "_%d", k);
            taken = H5Lexists(at, name, H5P_DEFAULT);
        }
        ok(o, taken);
        o->set[i] = make_set(o, at, name, H5T_IEEE_F64LE, o->columns, e->count);
        attribute_text(o, o->set[i], "name", signal->name);
        attribute_text(o, o->set[i], "unit", signal->unit);
        if (group[0] && at >= 0) ok(o, H5Gclose(at));
    }
}
static soa_status put_samples(target *o, soai_export *e, soa_report *report) {
    const hid_t t = make_set(o, o->file, "t", H5T_IEEE_F64LE, o->columns, e->count);
    attribute_text(o, t, "unit", "s");
    make_signals(o, e);
    soa_status s = SOA_OK;
    int64_t got = 0;
    for (int64_t done = 0; s == SOA_OK && !o->error; done += got) {
        s = soai_export_read(e, done, &got, report);
        if (s != SOA_OK || !got) break;
        put_rows(o, t, H5T_NATIVE_DOUBLE, done, got, e->t);
        for (int i = 0; i < e->signal_count && !o->error; ++i) {
            for (int64_t k = 0; k < got; ++k)
                o->column[k] = e->values[k * e->signal_count + i];
            put_rows(o, o->set[i], H5T_NATIVE_DOUBLE, done, got, o->column);
        }
    }
    for (int i = 0; i < e->signal_count; ++i)
        if (o->set[i] >= 0) ok(o, H5Dclose(o->set[i]));
    if (t >= 0) ok(o, H5Dclose(t));
    return s;
}

/* --- events ----------------------------------------------------------------------------------- */
typedef struct row {
    double t;
    char *kind, *text;
} row;
enum { ROWS = 256 };
static soa_status put_events(target *o, soai_export *e, soa_report *report) {
    soa_log_event_info event;
    soa_status s = SOA_OK;
    int64_t count = 0, done = 0;
    for (int64_t i = 0; i < e->info.events && s == SOA_OK; ++i) {
        s = soa_log_read_event(e->log, i, &event, report);
        count += s == SOA_OK && soai_export_wants(e, &event);
    }
    if (s != SOA_OK) return s;
    const hid_t type = id(o, H5Tcreate(H5T_COMPOUND, sizeof(row))), made = layout(o, ROWS, count);
    ok(o, H5Tinsert(type, "t", offsetof(row, t), H5T_NATIVE_DOUBLE));
    ok(o, H5Tinsert(type, "kind", offsetof(row, kind), o->text));
    ok(o, H5Tinsert(type, "text", offsetof(row, text), o->text));
    const hid_t set = make_set(o, o->file, "events", type, made, count);
    attribute_text(o, set, "unit", "s");
    row rows[ROWS];
    int n = 0;
    for (int64_t i = 0; i < e->info.events && s == SOA_OK && !o->error; ++i) {
        s = soa_log_read_event(e->log, i, &event, report);
        if (s == SOA_OK && soai_export_wants(e, &event)) {
            rows[n] = (row){event.t, strdup(event.kind), strdup(event.text)};
            if (!rows[n].kind || !rows[n].text)
                s = soai_report(report, SOA_E_MEMORY, -1, 0, "events: no memory");
            ++n;
        }
        if (n == ROWS || i + 1 == e->info.events || s != SOA_OK) {
            if (s == SOA_OK && n) put_rows(o, set, type, done, n, rows);
            done += n;
            while (n) {
                --n;
                free(rows[n].kind);
                free(rows[n].text);
            }
        }
    }
    while (n) {
        --n;
        free(rows[n].kind);
        free(rows[n].text);
    }
    if (set >= 0) ok(o, H5Dclose(set));
    if (made >= 0) ok(o, H5Pclose(made));
    if (type >= 0) ok(o, H5Tclose(type));
    return s;
}

static void put_scenario(target *o, const soai_export *e) {
    if (o->error) return;
    const hid_t type = id(o, H5Tcopy(H5T_C_S1)), space = id(o, H5Screate(H5S_SCALAR)),
                made = layout(o, 0, 0);
    if (type >= 0 && space >= 0 && made >= 0) {
        const size_t size = e->info.scenario_size;
        ok(o, H5Tset_size(type, size ? size : 1));
        ok(o, H5Tset_strpad(type, H5T_STR_NULLPAD));
        ok(o, H5Tset_cset(type, H5T_CSET_UTF8));
        const hid_t set =
            id(o, H5Dcreate2(o->file, "scenario", type, space, H5P_DEFAULT, made, H5P_DEFAULT));
        if (set >= 0) {
            ok(o, H5Dwrite(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, e->info.scenario));
            ok(o, H5Dclose(set));
        }
    }
    if (made >= 0) ok(o, H5Pclose(made));
    if (space >= 0) ok(o, H5Sclose(space));
    if (type >= 0) ok(o, H5Tclose(type));
}

/* --- the whole file --------------------------------------------------------------------------- */
static soa_status put_all(target *o, soai_export *e, soa_report *report) {
    o->text = id(o, H5Tcopy(H5T_C_S1));
    ok(o, H5Tset_size(o->text, H5T_VARIABLE));
    ok(o, H5Tset_cset(o->text, H5T_CSET_UTF8));
    o->access = id(o, H5Pcreate(H5P_DATASET_ACCESS));
    /* Chunks are written whole, so no cache is needed. */
    ok(o, H5Pset_chunk_cache(o->access, 1, 0, 1));
    o->columns = layout(o, e->rows, e->count);
    o->groups = id(o, H5Pcreate(H5P_GROUP_CREATE));
    const hid_t root = id(o, H5Pcreate(H5P_FILE_CREATE));
    ok(o, H5Pset_obj_track_times(o->groups, 0));
    ok(o, H5Pset_obj_track_times(root, 0));
    const hid_t driver = id(o, soai_driver_register());
    const hid_t way = driver >= 0 ? id(o, soai_driver_access(driver, o->sink)) : -1;
    if (way >= 0) o->file = id(o, H5Fcreate(e->file.temporary, H5F_ACC_TRUNC, root, way));
    soa_status s = SOA_OK;
    if (!o->error)
        o->signals = id(o, H5Gcreate2(o->file, "signals", H5P_DEFAULT, o->groups, H5P_DEFAULT));
    if (!o->error) {
        attribute_text(o, o->file, "program_version", e->info.program_version);
        attribute_text(o, o->file, "export_version", soa_version());
        attribute_number(o, o->file, "journal_version", e->info.version);
        attribute_number(o, o->file, "complete", e->info.complete != 0);
        put_scenario(o, e);
        s = put_samples(o, e, report);
        if (s == SOA_OK) s = put_events(o, e, report);
    }
    if (o->signals >= 0) ok(o, H5Gclose(o->signals));
    if (o->file >= 0) {
        o->open = H5Fclose(o->file) < 0;
        ok(o, o->open ? -1 : 0);
    }
    if (way >= 0) ok(o, H5Pclose(way));
    if (driver >= 0) ok(o, H5FDunregister(driver));
    if (root >= 0) ok(o, H5Pclose(root));
    if (o->groups >= 0) ok(o, H5Pclose(o->groups));
    if (o->columns >= 0) ok(o, H5Pclose(o->columns));
    if (o->access >= 0) ok(o, H5Pclose(o->access));
    if (o->text >= 0) ok(o, H5Tclose(o->text));
    return s;
}
soa_status soa_log_export_hdf5(soa_log *log, const char *path, const soa_export_options *options,
                               soa_report *report) {
    soai_report_reset(report);
    soai_export e;
    target o = {-1, -1, -1, -1, -1, -1, NULL, NULL, NULL, 0, 0, ""};
    soa_status s = soai_export_begin(&e, log, path, options, 4096, report);
    if (s == SOA_OK && !e.file.temporary)
        s = soai_report(report, SOA_E_FILE, -1, 0, "%s: HDF5 needs a regular file", path);
    if (s == SOA_OK) {
        o.set = malloc(((size_t)e.signal_count + 1) * sizeof *o.set);
        o.column = malloc((size_t)e.rows * sizeof *o.column);
        o.sink = calloc(1, sizeof *o.sink);
        if (!o.set || !o.column || !o.sink)
            s = soai_report(report, SOA_E_MEMORY, -1, 0, "%s: no memory", path);
    }
    if (s == SOA_OK) {
        H5E_auto2_t say = NULL;
        void *say_data = NULL;
        for (int i = 0; i < e.signal_count; ++i)
            o.set[i] = -1;
        o.sink->fd = e.file.fd;
        H5Eget_auto2(H5E_DEFAULT, &say, &say_data);
        /* The library must not print: we report errors ourselves. */
        H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
        s = put_all(&o, &e, report);
        H5Eset_auto2(H5E_DEFAULT, say, say_data);
        if (s == SOA_OK && o.sink->error)
            s = soai_report(report, SOA_E_FILE, -1, 0, "%.120s: cannot be written: %s", path,
                            strerror(o.sink->error));
        else if (s == SOA_OK && o.error)
            s = soai_report(report, SOA_E_FILE, -1, 0, "%.80s: HDF5 cannot write it: %s", path,
                            o.why);
    }
    if (s == SOA_OK) s = soai_new_file_commit(&e.file, report);
    if (o.sink && o.open) /* The library may still use the sink later. */
    {
        o.sink->fd = -1;
        o.sink->error = EIO;
    } else if (o.sink) {
        soai_sink_free(o.sink);
        free(o.sink);
    }
    free(o.set);
    free(o.column);
    soai_export_end(&e);
    return soai_report_end(report, s);
}
