/* standard_streams.c  what the archives that are linked into the module use in place of libc's
 * streams and of ICU (cmake/python.cmake says why). */
#include <stdio.h>

#define HIDDEN __attribute__((visibility("hidden")))

HIDDEN FILE *soai_stdin;
HIDDEN FILE *soai_stdout;
HIDDEN FILE *soai_stderr;

__attribute__((constructor)) static void set_streams(void) {
    soai_stdin = stdin;
    soai_stdout = stdout;
    soai_stderr = stderr;
}

/* libxml2 asks ICU for a converter of an encoding that it does not know: there is none. */
enum { NO_SUCH_CONVERTER = 4 }; /* ICU's U_FILE_ACCESS_ERROR */
HIDDEN void *soai_ucnv_open(const char *name, int *error) {
    (void)name;
    *error = NO_SUCH_CONVERTER;
    return NULL;
}
HIDDEN void soai_ucnv_close(void *converter) {
    (void)converter;
}
/* Never called, because there is never a converter. */
HIDDEN void soai_ucnv_convertEx(void) {}
HIDDEN void soai_ucnv_setFromUCallBack(void) {}
HIDDEN void soai_ucnv_setToUCallBack(void) {}
HIDDEN void soai_UCNV_FROM_U_CALLBACK_STOP(void) {}
HIDDEN void soai_UCNV_TO_U_CALLBACK_STOP(void) {}
