/* compare_calls.h  how `make compare` reaches one version of libsoa.
 *
 * compare_calls.c is compiled twice, with the headers of each version, into two modules that each
 * load their libsoa.so.  Only this interface crosses the border: names and plain numbers. */
#ifndef SOA_COMPARE_CALLS_H
#define SOA_COMPARE_CALLS_H

typedef struct compare_machine compare_machine;

enum { COMPARE_ABSENT = -1 }; /* in the place of a status: this machine has no such call */

typedef struct compare_library {
    const char *version;
    int states; /* number of states of a machine; calls take 0 to states - 1 */
    /* A machine from a saved model (path NULL: the machine with this name is built by the module).
     * NULL: it cannot be had; a message is on stderr.  place: another number puts its work spaces
     * at another distance from the page. */
    compare_machine *(*open)(const char *name, const char *path, int place);
    void (*close)(compare_machine *machine);
    /* The name of a call; NULL past the end.  Both versions have the same list. */
    const char *(*name)(int call);
    /* What `run` needs to be true beforehand, and is not measured.  A status. */
    int (*prepare)(compare_machine *machine, int call);
    /* A status, 0: the answer is there. */
    int (*run)(compare_machine *machine, int call, int state);
    /* The answer of the last run, `count` numbers. */
    const double *(*answer)(const compare_machine *machine, long *count);
    /* Largest relative difference between the versions that counts as equal. */
    double (*tolerance)(int call);
    const char *(*status_text)(int status);
} compare_library;

/* The only symbol of the module: "compare_calls". */
typedef const compare_library *compare_calls_fn(void);

#endif
