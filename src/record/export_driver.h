/* export_driver.h  HDF5 writes through us: to a descriptor, and never seeing a write fail. */
#ifndef SOAI_EXPORT_DRIVER_H
#define SOAI_EXPORT_DRIVER_H
#include <hdf5.h>

typedef struct soai_piece {
    struct soai_piece *next;
    haddr_t at;
    size_t size;
    unsigned char bytes[];
} soai_piece;
typedef struct soai_sink {
    int fd;
    int error;          /* errno of the first write that failed, 0: none */
    haddr_t size;       /* of the file */
    soai_piece *pieces; /* what was to be written since, the newest first */
} soai_sink;

/* A driver, and file access by it to the sink (which must outlive the file); negative: no. */
hid_t soai_driver_register(void);
hid_t soai_driver_access(hid_t driver, soai_sink *sink);
void soai_sink_free(soai_sink *sink);
#endif
