/* model_file.c  saves and loads a model's bytes. Separate from save.c, so that a program whose
 * models are in memory needs no file system. */
#include "../base/new_file.h"
#include "model_internal.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#define BAD(code, ...) return soai_report(report, code, -1, 0, __VA_ARGS__)

soa_status soa_model_save(const soa_model *m, const char *path, soa_report *report) {
    soai_report_reset(report);
    if (!m || !path) BAD(SOA_E_ARGUMENT, "no model or no path");
#if defined(__unix__) || defined(__APPLE__) || defined(__EMSCRIPTEN__)
    return soai_report_end(report, soai_new_file_write(path, m, (size_t)m->size, report));
#else
    BAD(SOA_E_FILE,
        "%s: this system has no POSIX files; store the soa_model_bytes() of the model yourself",
        path);
#endif
}

soa_status soa_model_load(const char *path, const soa_model **model, soa_report *report) {
    soai_report_reset(report);
    if (!path || !model) BAD(SOA_E_ARGUMENT, "no path");
    FILE *f = fopen(path, "rb");
    if (!f) BAD(SOA_E_FILE, "%s: cannot be read: %s", path, strerror(errno));
    soa_model head;
    soa_status s = SOA_OK;
    void *memory = NULL;
    const size_t there = fread(&head, 1, sizeof head, f);
    if (there < 8 || memcmp(head.magic, SOAI_MODEL_MAGIC, 8))
        s = soai_report(report, SOA_E_FORMAT, -1, 0, "%s: not a saved model", path);
    else if (there < sizeof head)
        s = soai_report(report, SOA_E_FORMAT, -1, 0,
                        "%s: cut short: %lu bytes are less than its header", path,
                        (unsigned long)there);
    else if (head.size < sizeof head || head.size % SOAI_ALIGN || head.size > (uint64_t)1 << 40)
        s = soai_report(report, SOA_E_FORMAT, -1, 0, "%s: its header gives a size of %llu bytes",
                        path, (unsigned long long)head.size);
    else if (fseek(f, 0, SEEK_END) || ftell(f) < 0)
        s = soai_report(report, SOA_E_FILE, -1, 0,
                        "%s: a saved model is read from a file, not through a pipe", path);
    else if ((uint64_t)ftell(f) > head.size)
        s = soai_report(report, SOA_E_FORMAT, -1, 0,
                        "%s: longer than the %llu bytes it says it has", path,
                        (unsigned long long)head.size);
    else if ((uint64_t)ftell(f) < head.size || fseek(f, 0, SEEK_SET))
        s = soai_report(report, SOA_E_FORMAT, -1, 0, "%s: cut short, %llu bytes expected", path,
                        (unsigned long long)head.size);
    else if (!(memory = aligned_alloc(SOAI_ALIGN, (size_t)head.size)))
        s = soai_report(report, SOA_E_MEMORY, -1, 0, "%s: no memory for %llu bytes", path,
                        (unsigned long long)head.size);
    else if (fread(memory, 1, (size_t)head.size, f) != head.size)
        s = soai_report(report, SOA_E_FILE, -1, 0, "%s: reading failed", path);
    else
        s = soa_model_from_bytes(memory, (size_t)head.size, model, report);
    fclose(f);
    if (s != SOA_OK) free(memory);
    return soai_report_end(report, s);
}
