/* check.c  soa check: reports everything doubtful in a model, with file, line and rule. */
#define _XOPEN_SOURCE 700 /* for realpath */
#include "../app.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Coordinates and rows of a closed machine that is checked as a whole. */
enum { DENSE_MOST = 1500 };

static const app_option none[] = {APP_OPTION_END};

typedef struct remark {
    soa_lint_level level;
    int line, order;
    char *rule, *text;
} remark;

typedef struct remarks {
    remark *list;
    int count, room, failed;
} remarks;

static char *copy_text(const char *text) {
    size_t length = strlen(text);
    char *copy = malloc(length + 1);
    return copy ? memcpy(copy, text, length + 1) : NULL;
}

static void collect(void *user, const soa_lint *found) {
    remarks *all = user;
    if (all->count == all->room) {
        int want = all->room ? 2 * all->room : 32;
        remark *grown = realloc(all->list, (size_t)want * sizeof *grown);
        if (!grown) {
            all->failed = 1;
            return;
        }
        all->list = grown;
        all->room = want;
    }
    remark r = {found->level, found->line, all->count, copy_text(found->rule),
                copy_text(found->text)};
    if (!r.rule || !r.text) {
        free(r.rule);
        free(r.text);
        all->failed = 1;
        return;
    }
    all->list[all->count++] = r;
}

static void add(remarks *all, soa_lint_level level, int line, const char *rule, const char *text) {
    collect(all, &(soa_lint){level, line, rule, text});
}

static int by_line(const void *a, const void *b) {
    const remark *x = a, *y = b;
    return x->line != y->line ? (x->line > y->line) - (x->line < y->line) : x->order - y->order;
}

/* Checks that apply to any model that loads: is forward dynamics defined, is there any mass. */
static void check_loaded(remarks *all, const soa_model *model) {
    char text[512];
    soa_work *work = NULL;
    soa_body_info info;
    size_t nq = (size_t)soa_model_nq(model), nv = (size_t)soa_model_nv(model);
    double *q = calloc(nq + nv + 1, sizeof *q);
    soa_status status = q ? soa_work_create(model, &work) : SOA_E_MEMORY;
    if (status == SOA_OK) {
        soa_q_neutral(model, q);
        status = soa_aba(model, work, q, NULL, NULL, NULL, 0, q + nq);
    }
    if (status == SOA_E_MEMORY) {
        all->failed = 1; /* could not be checked */
    } else if (status != SOA_OK) {
        int body = work ? soa_work_failed_body(work) : -1;
        if (body > 0 && soa_model_body(model, body, &info) == SOA_OK)
            snprintf(text, sizeof text, "link '%s' (joint '%s'): %s", info.link, info.joint,
                     soa_status_text(status));
        else
            snprintf(text, sizeof text, "forward dynamics at the neutral position: %s",
                     soa_status_text(status));
        add(all, SOA_LINT_ERROR, 0, status == SOA_E_HINGE_SINGULAR ? "hinge-singular" : "dynamics",
            text);
    }
    if (soa_model_body_count(model) == 0)
        add(all, SOA_LINT_WARNING, 0, "no-joints", "nothing in this model moves");
    soa_work_free(work);
    free(q);
}

/* Closes the loops from the neutral position and checks the result. For URDF files the linter does
 * this. */
static void check_closed(remarks *all, const soa_model *model, const soa_constraint_list *list) {
    char text[512];
    soa_constraints *constraints = NULL;
    soa_work *work = NULL;
    soa_report report = {SOA_OK, -1, 0, ""};
    soa_closed_report closed = {.rank = 0};
    size_t nq = (size_t)soa_model_nq(model), nv = (size_t)soa_model_nv(model);
    if (list->count == 0) return;
    double *q = calloc(nq + nv + 1, sizeof *q);
    soa_status status =
        q ? soa_constraints_from_list(list, model, nv + 6 * (size_t)list->count <= DENSE_MOST,
                                      &constraints, &report)
          : SOA_E_MEMORY;
    if (status == SOA_OK) status = soa_work_create(model, &work);
    if (status == SOA_OK) {
        soa_q_neutral(model, q);
        status = soa_closed_assemble(constraints, work, 0, NULL, q, &report);
    }
    if (status == SOA_E_NO_CONVERGENCE) {
        add(all, SOA_LINT_WARNING, 0, "loop-not-closable", report.text);
    } else {
        if (status == SOA_OK)
            status =
                soa_closed_fd(constraints, work, NULL, &(soa_input){.q = q}, q + nq, NULL, &closed);
        if (status == SOA_E_MEMORY) {
            all->failed = 1;
        } else if (status != SOA_OK) {
            snprintf(text, sizeof text, "forward dynamics with its loops closed: %.400s",
                     report.text[0] ? report.text : soa_status_text(status));
            add(all, SOA_LINT_ERROR, 0, "dynamics", text);
        } else if (closed.redundant > 0) {
            snprintf(text, sizeof text,
                     "%d of %d rows of the constraints %s%s); their forces are not determined, the "
                     "motion is",
                     closed.redundant, closed.rows,
                     closed.redundant == 1 ? "is redundant (" : "are redundant (the first: ",
                     closed.text);
            add(all, SOA_LINT_NOTE, 0, "loop-redundant", text);
        }
    }
    soa_work_free(work);
    soa_constraints_free(constraints);
    free(q);
}

static void print_remarks(app_out *out, const char *name, remarks *all) {
    static const char *const words[] = {"note", "warning", "error"}, *const colours[] = {"36", "35",
                                                                                         "31"};
    const char *terminal = getenv("TERM"), *plain = getenv("NO_COLOR");
    int colour =
        isatty(out->fd) && terminal && strcmp(terminal, "dumb") != 0 && !(plain && plain[0]);
    const char *bold = colour ? "\033[1m" : "";
    const char *normal = colour ? "\033[0m" : "";
    out->coloured = colour;
    if (all->count) qsort(all->list, (size_t)all->count, sizeof *all->list, by_line);
    for (int i = 0; i < all->count; ++i) {
        const remark *r = &all->list[i];
        out_text(out, bold);
        out_print(out, "%s:", name);
        if (r->line > 0) out_print(out, "%d:", r->line);
        out_text(out, normal);
        if (colour) out_print(out, " \033[1;%sm%s:", colours[r->level], words[r->level]);
        if (!colour) out_print(out, " %s:", words[r->level]);
        out_text(out, normal);
        out_print(out, " [%s] %s\n", r->rule, r->text);
    }
}

/* Prints the last line: how many of each, and what the model is (NULL: it could not be loaded). */
static void print_counts(app_out *out, const char *name, const int count[3], const soa_model *model,
                         int constraints) {
    out_print(out, "%s: %d error%s, %d warning%s, %d note%s", name, count[2],
              count[2] == 1 ? "" : "s", count[1], count[1] == 1 ? "" : "s", count[0],
              count[0] == 1 ? "" : "s");
    if (model)
        out_format(out, "; nq %d, nv %d, %d moving bod%s, %.6g kg", soa_model_nq(model),
                   soa_model_nv(model), soa_model_body_count(model),
                   soa_model_body_count(model) == 1 ? "y" : "ies", soa_model_mass(model));
    if (constraints) out_format(out, ", %d constraint%s", constraints, constraints == 1 ? "" : "s");
    out_char(out, '\n');
}

/* Text of a URDF, from a file or a pipe. NULL: something else, which the model opener will explain,
 * or out of memory. */
static char *read_urdf(const char *path, size_t *length, int *short_of_memory) {
    /* More than the reader accepts, so that it reports the size. */
    const size_t most = (size_t)65 << 20;
    struct stat about;
    FILE *file = stat(path, &about) == 0 && !S_ISDIR(about.st_mode) ? fopen(path, "rb") : NULL;
    char *text = NULL;
    size_t room = 0, got = 1;
    for (*length = 0; file && got > 0 && *length < most; *length += got) {
        if (*length == room) {
            const size_t want = room ? 2 * room : 65536;
            char *more = realloc(text, want);
            if (!more) {
                *short_of_memory = 1;
                break;
            }
            text = more;
            room = want;
        }
        got = fread(text + *length, 1, room - *length, file);
    }
    int usable = file && !ferror(file) && (got == 0 || *length >= most);
    if (file) fclose(file);
    if (usable && (!S_ISREG(about.st_mode) || soa_urdf_begins_as_xml(text, *length))) return text;
    free(text);
    return NULL;
}

/* Text of a report after "file:line: ", which check writes itself. */
static const char *without_place(const soa_report *report) {
    char line[16] = ": ";
    if (report->line > 0) snprintf(line, sizeof line, ":%d: ", report->line);
    const char *found = strstr(report->text, line);
    if (found) return found + strlen(line);
    if (report->text[0]) return report->text;
    return soa_status_text(report->status);
}

static int run(int argc, char **argv) {
    app_args args;
    int code = app_parse(&app_check, argc, argv, &args);
    if (code != APP_GO_ON) return code;
    const char *name = args.word[0];
    if (app_refuse_others(&app_check, name, APP_MODEL) != APP_OK) return APP_FAILED;
    size_t length = 0;
    int short_of_memory = 0;
    char *text = app_is_stock_model(name) ? NULL : read_urdf(name, &length, &short_of_memory);
    if (short_of_memory) return app_fail(&app_check, "out of memory");
    if (text && length >= 8 && memcmp(text, "soamodel", 8) == 0) {
        free(text);
        return app_fail(&app_check, "%s: a saved model is read from a file, not through a pipe",
                        name);
    }
    remarks all = {NULL, 0, 0, 0};
    int count[3] = {0, 0, 0};
    const soa_model *model = NULL;
    soa_constraint_list constraints = {0, NULL};
    soa_report report = {SOA_OK, -1, 0, ""};
    app_out out;
    out_start(&out, 1);
    code = APP_OK;

    if (text) {
        char *directory = realpath(name, NULL), *slash = directory ? strrchr(directory, '/') : NULL;
        if (slash) *slash = 0;
        /* Meshes could not be searched for. */
        if (!directory && errno == ENOMEM) all.failed = 1;
        soa_status status = soa_urdf_lint_text(
            &(soa_urdf_source){
                .text = text, .length = length, .name = name, .directory = directory},
            collect, &all, NULL, NULL, &report);
        free(directory);
        if (status != SOA_OK)
            return app_fail(&app_check, "%s",
                            report.text[0] ? report.text : soa_status_text(status));
    } else {
        /* Reports failures itself. */
        model = app_open_closed(&app_check, &args, &constraints);
        if (!model) return APP_FAILED;
        check_loaded(&all, model);
        check_closed(&all, model, &constraints);
    }
    for (int i = 0; i < all.count; ++i)
        ++count[all.list[i].level];
    /* The reader has the final decision. */
    if (text && count[SOA_LINT_ERROR] == 0) {
        soa_status status =
            soa_urdf_parse(&(soa_urdf_source){.text = text, .length = length, .name = name}, NULL,
                           &model, &constraints, &report);
        if (status == SOA_E_MEMORY) {
            all.failed = 1;
        } else if (status != SOA_OK) {
            add(&all, SOA_LINT_ERROR, report.line, "load", without_place(&report));
            ++count[SOA_LINT_ERROR];
        }
    }
    /* What could not be checked may be wrong, so no counts are printed. */
    if (all.failed) {
        code = app_fail(&app_check, "%s: out of memory, so it could not be checked", name);
    } else {
        print_remarks(&out, name, &all);
        print_counts(&out, name, count, model, constraints.count);
        if (count[SOA_LINT_ERROR] > 0) code = APP_SOME_BAD;
    }
    for (int i = 0; i < all.count; ++i) {
        free(all.list[i].rule);
        free(all.list[i].text);
    }
    free(all.list);
    free(text);
    soa_constraint_list_free(&constraints);
    soa_model_free(model);
    return app_finish(&app_check, &out, code);
}

const app_command app_check = {
    .name = "check",
    .words = "MODEL",
    .least = 1,
    .most = 1,
    .summary = "Looks for everything doubtful in a model",
    .text = "For a URDF file, one line per finding: file:line: level: [rule] what was found and "
            "what to do.\n"
            "Errors make the dynamics wrong or impossible, warnings probably were not meant, notes "
            "are to know.\n"
            "Both a fixed and a floating base are looked at.\n"
            "Other models are loaded, and their forward dynamics tried; loops are closed and "
            "looked at.\n"
            "Exit status: 0 no errors, 1 errors found, 2 not readable.\n",
    .options = none,
    .examples = "  soa check robot.urdf\n"
                "  soa check robot.urdf | grep 'inertia-'\n"
                "  xacro robot.xacro | soa check /dev/stdin\n",
    .run = run,
};
