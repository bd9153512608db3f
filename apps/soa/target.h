/* target.h  a file a command writes: a temporary name beside it, renamed when it is whole; an older file stays until
 * then. */
#ifndef SOA_APP_TARGET_H
#define SOA_APP_TARGET_H

typedef struct app_target {
    char *path; /* NULL: written in place (standard output, device, pipe) */
    int fd;
} app_target;

/* path NULL or "-": standard output.  0, or -1 with errno.  One at a time; a signal that ends us removes the
 * temporary. */
int app_target_open(app_target *t, const char *path);
/* Ends the output; the file takes its name only if all was well.  0, or -1 with errno. */
int app_target_close(app_target *t, int good);

#endif
