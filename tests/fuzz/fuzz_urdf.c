/* fuzz_urdf.c  any bytes into the URDF reader: a model or a report, never a crash, a leak or a
 * hang.
 *
 * libFuzzer:  clang -fsanitize=fuzzer,address,undefined ... fuzz_urdf.c; run it with
 *             tests/corpus/urdf.
 * Replay:     with -DSOA_FUZZ_REPLAY it has a main() that reads the files and folders named on the
 *             command line. */
#define _POSIX_C_SOURCE 200809L

#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "soa/io.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    soa_urdf_shape_list shapes; /* without a folder no other file is opened */
    soa_report about;
    if (soa_urdf_parse_shapes(
            &(soa_urdf_source){.text = (const char *)data, .length = size, .name = "fuzz.urdf"},
            &shapes, &about) != about.status)
        abort();
    for (int i = 0; i < shapes.count; ++i)
        if (shapes.shapes[i].is_mesh || soa_shape_check(&shapes.shapes[i].shape, NULL) != SOA_OK)
            abort();
    soa_urdf_shape_list_free(&shapes);
    for (int i = 0; i < 4; ++i) {
        const soa_read_options options = {.floating = i & 1, .ideal = i >> 1};
        const soa_model *model = NULL;
        soa_report report;
        soa_constraint_list list;
        soa_status status = soa_urdf_parse(
            &(soa_urdf_source){.text = (const char *)data, .length = size, .name = "fuzz.urdf"},
            &options, &model, &list, &report);
        if (status != report.status || (status == SOA_OK) != (model != NULL)) abort();
        if (status == SOA_OK &&
            (soa_model_nq(model) < soa_model_nv(model) || soa_model_frame_count(model) < 1))
            abort();
        if (status != SOA_OK &&
            (report.text[0] == 0 || memchr(report.text, 0, sizeof report.text) == NULL))
            abort();
        if (list.count < 0 || (list.count > 0) != (list.defs != NULL) ||
            (status != SOA_OK && list.count > 0))
            abort();
        soa_constraints *all = NULL;
        /* Each was tried alone before. */
        if (status == SOA_OK && list.count > 0 && list.count < 50 && soa_model_nv(model) < 50) {
            if (soa_constraints_from_list(&list, model, 0, &all, &report) != SOA_OK) abort();
            soa_constraints_free(all);
        }
        soa_constraint_list_free(&list);
        soa_model_free(model);
    }
    return 0;
}

#ifdef SOA_FUZZ_REPLAY
static int replay_file(const char *path) {
    FILE *file = fopen(path, "rb");
    uint8_t *data = malloc(1 << 20);
    if (file == NULL || data == NULL) {
        fprintf(stderr, "%s: cannot be read\n", path);
        if (file != NULL) fclose(file);
        free(data);
        return 1;
    }
    size_t size = fread(data, 1, 1 << 20, file);
    fclose(file);
    /* Exact size, so that sanitizers detect a read past the end. */
    uint8_t *exact = malloc(size > 0 ? size : 1);
    if (exact != NULL) {
        memcpy(exact, data, size);
        LLVMFuzzerTestOneInput(exact, size);
    }
    free(exact);
    free(data);
    return 0;
}

int main(int count, char **paths) {
    int files = 0, bad = 0;
    for (int i = 1; i < count; ++i) {
        DIR *folder = opendir(paths[i]);
        if (folder == NULL) {
            bad += replay_file(paths[i]);
            ++files;
            continue;
        }
        for (struct dirent *entry; (entry = readdir(folder)) != NULL;) {
            char path[4096];
            if (entry->d_name[0] == '.') continue;
            snprintf(path, sizeof path, "%s/%s", paths[i], entry->d_name);
            bad += replay_file(path);
            ++files;
        }
        closedir(folder);
    }
    printf("%d files replayed, %d could not be read\n", files, bad);
    return files > 0 && bad == 0 ? 0 : 1;
}
#endif
