/* no_hdf5.c  the Python package writes HDF5 by h5py, so that a wheel does not contain the library. */
#include <soa/journal.h>
#include <stdio.h>

soa_status soa_log_export_hdf5(soa_log *log, const char *path, const soa_export_options *options,
                               soa_report *report) {
    (void)log;
    (void)path;
    (void)options;
    if (report) {
        *report = (soa_report){.status = SOA_E_FILE, .body = -1};
        snprintf(report->text, sizeof report->text,
                 "this build of libsoa has no HDF5: use Record.to_hdf5, which needs h5py");
    }
    return SOA_E_FILE;
}
