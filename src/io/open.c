/* open.c  whatever the user names: a shipped model, a saved model or a URDF file. */
#include "../../models/stock.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static soa_status fail(soa_report *report, soa_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static soa_status fail(soa_report *report, soa_status status, const char *format, ...) {
    if (report != NULL) {
        va_list list;
        va_start(list, format);
        report->status = status, report->body = -1, report->line = 0;
        vsnprintf(report->text, sizeof report->text, format, list);
        va_end(list);
    }
    return status;
}

static int ends_with(const char *text, const char *end) {
    size_t n = strlen(text), m = strlen(end);
    return n >= m && strcmp(text + n - m, end) == 0;
}

/* Names that can only be files, so that no shipped model is suggested for them. */
static int looks_like_file(const char *spec) {
    return strchr(spec, '/') != NULL || ends_with(spec, ".urdf") || ends_with(spec, ".xml") || ends_with(spec, ".soam");
}

soa_status soa_model_open(const char *spec, const soa_read_options *options, const soa_model **model,
                          soa_report *report) {
    return soa_model_open_closed(spec, options, model, NULL, report);
}

soa_status soa_model_open_closed(const char *spec, const soa_read_options *options, const soa_model **model,
                                 soa_constraint_list *constraints, soa_report *report) {
    if (constraints != NULL) *constraints = (soa_constraint_list){0, NULL};
    if (spec == NULL || model == NULL || *spec == '\0')
        return fail(report, SOA_E_ARGUMENT, "name a shipped model, a saved model (.soam) or a URDF file");
    if (!looks_like_file(spec) && soai_stock_is_name(spec))
        return soai_stock_open(spec, options, model, constraints, report);

    struct stat about;
    errno = 0;
    if (stat(spec, &about) != 0) {
        int reason = errno;
        if (reason != ENOENT || looks_like_file(spec))
            return fail(report, SOA_E_FILE, "%.150s: %s", spec, strerror(reason));
        char hint[SOAI_HINT];
        return fail(report, SOA_E_NAME, "\"%.100s\" is neither a file nor a shipped model%s", spec,
                    soai_stock_hint(spec, hint));
    }
    if (S_ISDIR(about.st_mode)) return fail(report, SOA_E_FILE, "%.150s is a directory, not a model file", spec);

    FILE *file = fopen(spec, "rb");
    if (file == NULL) return fail(report, SOA_E_FILE, "%.150s: %s", spec, strerror(errno));
    int first;
    do first = getc(file);
    while (first == ' ' || first == '\t' || first == '\r' || first == '\n');
    int broken = ferror(file);
    fclose(file);
    if (broken) return fail(report, SOA_E_FILE, "%.150s: could not be read", spec);
    if (first == EOF) return fail(report, SOA_E_FORMAT, "%.150s is empty", spec);
    /* XML starts with '<' or a byte order mark; a saved model has its own first bytes, which load checks. */
    if (first == '<' || first == 0xef || first == 0xfe || first == 0xff)
        return soa_urdf_read_closed(spec, options, model, constraints, report);

    const soa_model *saved;
    soa_status status = soa_model_load(spec, &saved, report);
    if (status == SOA_E_FORMAT && !ends_with(spec, ".soam"))
        return fail(report, status, "%.150s is neither a URDF file (XML) nor a saved model (.soam)", spec);
    if (status != SOA_OK) return status;
    if (options != NULL && (options->floating || options->ideal)) {
        soa_model_free(saved);
        return fail(report, SOA_E_ARGUMENT,
                    "%.150s: a saved model is built already; give --floating or --ideal when it is saved", spec);
    }
    *model = saved;
    return SOA_OK;
}
