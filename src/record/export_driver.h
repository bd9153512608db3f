/* export_driver.h  HDF5 file driver that writes to a file descriptor and never reports a failed
 * write to the library. */
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
    int error;          /* errno of the first failed write; 0: none failed */
    haddr_t size;       /* size of the file */
    soai_piece *pieces; /* data written after the first error, newest first */
} soai_sink;

/* Registers the driver, and makes file access properties that use it with a sink. The sink must
 * outlive the file. A negative result means failure. */
hid_t soai_driver_register(void);
hid_t soai_driver_access(hid_t driver, soai_sink *sink);
void soai_sink_free(soai_sink *sink);
#endif
