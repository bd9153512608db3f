/* open.c  whatever the user names: a shipped model, a saved model or a URDF file. */
#include "../stock/stock.h"
#include "../model/model_internal.h"
#include "urdf_internal.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static int ends_with(const char *text, const char *end) {
    size_t n = strlen(text), m = strlen(end);
    return n >= m && strcmp(text + n - m, end) == 0;
}

/* Names that can only be files, so that no shipped model is suggested for them. */
static int looks_like_file(const char *spec) {
    return strchr(spec, '/') != NULL || ends_with(spec, ".urdf") || ends_with(spec, ".xml") ||
           ends_with(spec, ".soam");
}

bool soa_urdf_begins_as_xml(const char *text, size_t length) {
    static const char *const white = " \t\r\n";
    if (text == NULL) return false;
    /* UTF-16 */
    if (length >= 4 && (memcmp(text, "\xff\xfe", 2) == 0 || memcmp(text, "\xfe\xff", 2) == 0)) {
        size_t low = (unsigned char)text[0] == 0xfe, at = 2; /* which byte of two says it */
        while (at + 1 < length && text[at + 1 - low] == '\0' && text[at + low] != '\0' &&
               strchr(white, text[at + low]))
            at += 2;
        return at + 1 < length && text[at + 1 - low] == '\0' && text[at + low] == '<';
    }
    size_t at = length >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0 ? 3 : 0; /* UTF-8 */
    while (at < length && text[at] != '\0' && strchr(white, text[at]) != NULL)
        ++at;
    return at < length && text[at] == '<';
}

static int is_saved_model(const char *head, size_t length) {
    return length >= 8 && memcmp(head, SOAI_MODEL_MAGIC, 8) == 0;
}

/* A URDF, its text read once: from a file or through a pipe. */
static soa_status open_text(const char *spec, const soa_read_options *options,
                            const soa_model **model, soa_constraint_list *constraints,
                            soa_report *report) {
    soa_report ignored;
    if (report == NULL) report = &ignored;
    char *text = NULL;
    size_t length = 0;
    soa_status status = soai_urdf_slurp(spec, &text, &length, report);
    if (status != SOA_OK) return status;
    if (soa_urdf_begins_as_xml(text, length))
        status = soa_urdf_parse(&(soa_urdf_source){.text = text, .length = length, .name = spec},
                                options, model, constraints, report);
    else if (length == 0)
        status = soai_report(report, SOA_E_FORMAT, -1, 0, "%.150s is empty", spec);
    else if (is_saved_model(text, length))
        status = soai_report(report, SOA_E_FILE, -1, 0,
                             "%.150s: a saved model is read from a file, not through a pipe", spec);
    else
        status = soai_report(report, SOA_E_FORMAT, -1, 0,
                             "%.150s is neither a URDF file (XML) nor a saved model (.soam)", spec);
    xmlFree(text);
    return status;
}

soa_status soa_model_open(const char *spec, const soa_read_options *options,
                          const soa_model **model, soa_constraint_list *constraints,
                          soa_report *report) {
    soai_report_reset(report);
    if (constraints != NULL) *constraints = (soa_constraint_list){0, NULL};
    if (spec == NULL || model == NULL || *spec == '\0')
        return soai_report(report, SOA_E_ARGUMENT, -1, 0,
                           "name a shipped model, a saved model (.soam) or a URDF file");
    if (!looks_like_file(spec) && soai_stock_is_name(spec))
        return soai_report_end(report, soai_stock_open(spec, options, model, constraints, report));

    struct stat about;
    errno = 0;
    if (stat(spec, &about) != 0) {
        int reason = errno;
        if (reason != ENOENT || looks_like_file(spec))
            return soai_report(report, SOA_E_FILE, -1, 0, "%.150s: %s", spec, strerror(reason));
        char hint[SOAI_HINT];
        return soai_report(report, SOA_E_NAME, -1, 0,
                           "\"%.100s\" is neither a file nor a shipped model%s", spec,
                           soai_stock_hint(spec, hint));
    }
    if (S_ISDIR(about.st_mode))
        return soai_report(report, SOA_E_FILE, -1, 0, "%.150s is a directory, not a model file",
                           spec);

    if (!S_ISREG(about.st_mode))
        return soai_report_end(report, open_text(spec, options, model, constraints, report));
    FILE *file = fopen(spec, "rb");
    if (file == NULL)
        return soai_report(report, SOA_E_FILE, -1, 0, "%.150s: %s", spec, strerror(errno));
    char head[8];
    size_t length = fread(head, 1, sizeof head, file);
    fclose(file);
    if (!is_saved_model(head, length))
        return soai_report_end(report, open_text(spec, options, model, constraints, report));

    const soa_model *saved;
    soa_status status = soa_model_load(spec, &saved, report);
    if (status != SOA_OK) return soai_report_end(report, status);
    if (options != NULL && (options->floating || options->ideal)) {
        soa_model_free(saved);
        return soai_report(
            report, SOA_E_ARGUMENT, -1, 0,
            "%.150s: a saved model is built already; give --floating or --ideal when it is saved",
            spec);
    }
    *model = saved;
    return SOA_OK;
}
