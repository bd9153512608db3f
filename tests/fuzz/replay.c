/* replay.c  a main() that passes every named file, and every file of a named folder, to a fuzzer's
 * entry point: the corpus as an ordinary test, with any compiler. Each input has a block of exactly
 * its size, so that sanitizers detect reads past its end. */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Nonzero if the file could be read. */
static int replay_file(const char *path) {
    FILE *file = fopen(path, "rb");
    if (file == NULL) return 0;
    uint8_t *data = NULL;
    long size = fseek(file, 0, SEEK_END) == 0 ? ftell(file) : -1;
    int read = 0;
    if (size >= 0 && fseek(file, 0, SEEK_SET) == 0 &&
        (data = malloc(size > 0 ? (size_t)size : 1)) != NULL)
        read = fread(data, 1, (size_t)size, file) == (size_t)size;
    fclose(file);
    if (read) {
        fprintf(stderr, "%s\n", path); /* the last name printed is that of the failing file */
        LLVMFuzzerTestOneInput(data, (size_t)size);
    }
    free(data);
    return read;
}

int main(int count, char **paths) {
    int files = 0, unread = 0;
    for (int i = 1; i < count; ++i) {
        DIR *folder = opendir(paths[i]);
        if (folder == NULL) {
            ++files;
            if (!replay_file(paths[i])) unread += printf("%s: cannot be read\n", paths[i]) > 0;
            continue;
        }
        for (struct dirent *entry; (entry = readdir(folder)) != NULL;) {
            char path[4096];
            if (entry->d_name[0] == '.') continue;
            snprintf(path, sizeof path, "%s/%s", paths[i], entry->d_name);
            ++files;
            if (!replay_file(path)) unread += printf("%s: cannot be read\n", path) > 0;
        }
        closedir(folder);
    }
    printf("%s: %d files replayed, %d could not be read\n", paths[0], files - unread, unread);
    return files > 0 && unread == 0 ? 0 : 1;
}
