/* export_driver.c  file driver for HDF5 that hides write errors from the HDF5 library.
 *
 * HDF5 does not recover from a failed write (disk full): it can no longer close the file, and at
 * the end of the program it prints messages and gives up in its own way. So this driver only
 * remembers the first error, which we then report. Data written after it, little more than closing
 * the file needs, is kept in memory and read back from there. */
#include "export_driver.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct handle {
    H5FD_t base; /* the library requires this as the first member */
    soai_sink *sink;
    haddr_t end; /* end of the allocated addresses */
} handle;
static handle *of(const H5FD_t *file) {
    return (handle *)(uintptr_t)file;
}

static H5FD_t *open_sink(const char *name, unsigned flags, hid_t access, haddr_t most) {
    (void)name;
    (void)most;
    soai_sink *const *sink = H5Pget_driver_info(access);
    handle *h = sink ? calloc(1, sizeof *h) : NULL;
    if (!h) return NULL;
    h->sink = *sink;
    if (flags & H5F_ACC_TRUNC) {
        if (ftruncate(h->sink->fd, 0)) h->sink->error = errno;
        h->sink->size = 0;
    }
    return &h->base;
}
static herr_t close_sink(H5FD_t *file) {
    free(of(file));
    return 0;
}
static int compare(const H5FD_t *a, const H5FD_t *b) {
    if (of(a)->sink == of(b)->sink) return 0;
    if (of(a)->sink < of(b)->sink) return -1;
    return 1;
}
static herr_t query(const H5FD_t *file, unsigned long *features) {
    (void)file;
    *features = H5FD_FEAT_AGGREGATE_METADATA | H5FD_FEAT_ACCUMULATE_METADATA |
                H5FD_FEAT_DATA_SIEVE | H5FD_FEAT_AGGREGATE_SMALLDATA;
    return 0;
}
static haddr_t get_allocated(const H5FD_t *file, H5FD_mem_t type) {
    (void)type;
    return of(file)->end;
}
static herr_t set_allocated(H5FD_t *file, H5FD_mem_t type, haddr_t end) {
    (void)type;
    of(file)->end = end;
    return 0;
}
static haddr_t get_size(const H5FD_t *file, H5FD_mem_t type) {
    (void)type;
    return of(file)->sink->size;
}

static herr_t read_bytes(H5FD_t *file, H5FD_mem_t type, hid_t how, haddr_t at, size_t size,
                         void *bytes) {
    (void)type;
    (void)how;
    const soai_sink *s = of(file)->sink;
    size_t got = 0;
    while (got < size) {
        const ssize_t n = pread(s->fd, (char *)bytes + got, size - got, (off_t)(at + got));
        if (n < 0 && errno == EINTR) continue;
        if (n < 0 && !s->error) return -1;
        if (n <= 0) break;
        got += (size_t)n;
    }
    memset((char *)bytes + got, 0, size - got); /* zeros beyond the end of the file */
    int pieces = 0;
    for (const soai_piece *p = s->pieces; p; p = p->next)
        ++pieces;
    for (; pieces > 0; --pieces) { /* oldest first */
        const soai_piece *p = s->pieces;
        for (int i = 1; i < pieces; ++i)
            p = p->next;
        const haddr_t low = p->at > at ? p->at : at;
        const haddr_t high = p->at + p->size < at + size ? p->at + p->size : at + size;
        if (low < high)
            memcpy((char *)bytes + (low - at), p->bytes + (low - p->at), (size_t)(high - low));
    }
    return 0;
}
static herr_t write_bytes(H5FD_t *file, H5FD_mem_t type, hid_t how, haddr_t at, size_t size,
                          const void *bytes) {
    (void)type;
    (void)how;
    soai_sink *s = of(file)->sink;
    size_t done = 0;
    while (!s->error && done < size) {
        const ssize_t n =
            pwrite(s->fd, (const char *)bytes + done, size - done, (off_t)(at + done));
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0)
            s->error = n < 0 ? errno : EIO;
        else
            done += (size_t)n;
    }
    if (at + size > s->size) s->size = at + size;
    if (!s->error) return 0;
    soai_piece *p = malloc(sizeof *p + size);
    if (!p) return -1;
    *p = (soai_piece){s->pieces, at, size};
    memcpy(p->bytes, bytes, size);
    s->pieces = p;
    return 0;
}
static herr_t cut(H5FD_t *file, hid_t how, hbool_t closing) {
    (void)how;
    (void)closing;
    soai_sink *s = of(file)->sink;
    if (s->size != of(file)->end && !s->error && ftruncate(s->fd, (off_t)of(file)->end))
        s->error = errno;
    s->size = of(file)->end;
    return 0;
}

static const H5FD_class_t driver = {
#ifdef H5FD_CLASS_VERSION
    .version = H5FD_CLASS_VERSION,
    .value = 600,
#endif
    .name = "soa_export",
    .maxaddr = ((haddr_t)1 << 62) - 1,
    .fc_degree = H5F_CLOSE_WEAK,
    .fapl_size = sizeof(soai_sink *),
    .open = open_sink,
    .close = close_sink,
    .cmp = compare,
    .query = query,
    .get_eoa = get_allocated,
    .set_eoa = set_allocated,
    .get_eof = get_size,
    .read = read_bytes,
    .write = write_bytes,
    .truncate = cut,
    .fl_map = H5FD_FLMAP_DICHOTOMY,
};

hid_t soai_driver_register(void) {
    return H5FDregister(&driver);
}
hid_t soai_driver_access(hid_t id, soai_sink *sink) {
    const hid_t access = H5Pcreate(H5P_FILE_ACCESS);
    if (access >= 0 && H5Pset_driver(access, id, &sink) >= 0) return access;
    if (access >= 0) H5Pclose(access);
    return -1;
}
void soai_sink_free(soai_sink *sink) {
    while (sink->pieces) {
        soai_piece *p = sink->pieces;
        sink->pieces = p->next;
        free(p);
    }
}
