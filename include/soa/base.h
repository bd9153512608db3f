/* soa/base.h  status codes, reports and the version.
 *
 * Every function that can fail returns a soa_status.  Results are written through pointers, and
 * only on SOA_OK.  No function prints, exits or takes a lock, and none allocates once the work
 * space exists.  Exceptions are documented with the function.
 *
 * NULL never causes a crash.  A missing pointer that a function needs is SOA_E_ARGUMENT; a missing
 * work space or missing memory for a model is SOA_E_MEMORY.  A function without a status returns a
 * neutral value: 0 for a count, a size or a quantity; -1 for the number of something that was
 * searched for; NULL for an object or an array; "" for a name; the identity for a frame.  A
 * function that returns nothing does nothing, or writes zeros if only its input is missing. */
#ifndef SOA_BASE_H
#define SOA_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The version, defined here alone; SOA_VERSION is the text "MAJOR.MINOR.PATCH". */
#define SOA_VERSION_MAJOR 0
#define SOA_VERSION_MINOR 2
#define SOA_VERSION_PATCH 0
#define SOA_VERSION                        \
    SOA_VERSION_DIGITS_(SOA_VERSION_MAJOR) \
    "." SOA_VERSION_DIGITS_(SOA_VERSION_MINOR) "." SOA_VERSION_DIGITS_(SOA_VERSION_PATCH)
#define SOA_VERSION_DIGITS_(number) SOA_VERSION_QUOTED_(number)
#define SOA_VERSION_QUOTED_(digits) #digits

#if defined(__GNUC__)
#define SOA_API __attribute__((visibility("default")))
#else
#define SOA_API
#endif

/* All status codes with their texts; the enum and soa_status_text() are made from this list. */
#define SOA_STATUS_LIST(X)                                                                       \
    X(SOA_OK, "ok")                                                                              \
    X(SOA_E_ARGUMENT, "an argument is missing or out of range")                                  \
    X(SOA_E_NOT_FINITE, "an input number is NaN or infinite")                                    \
    X(SOA_E_QUATERNION, "a quaternion is not of unit length")                                    \
    X(SOA_E_MEMORY, "the memory given is too small or misaligned, or none could be had")         \
    X(SOA_E_TREE, "the bodies do not form a tree with parents before children")                  \
    X(SOA_E_NAME, "a name is missing, unknown or used twice")                                    \
    X(SOA_E_JOINT, "a joint definition is not usable")                                           \
    X(SOA_E_FRAME, "a placement is not a rotation and a finite translation")                     \
    X(SOA_E_INERTIA, "a mass or inertia is not physical")                                        \
    X(SOA_E_MIMIC, "a mimic joint does not follow a usable joint")                               \
    X(SOA_E_HINGE_SINGULAR,                                                                      \
      "a joint moves no inertia (massless links, point tip), so its acceleration is undefined")  \
    X(SOA_E_FORMAT, "the data are not in the format expected")                                   \
    X(SOA_E_VERSION, "the data were written by another version of the format")                   \
    X(SOA_E_CHECKSUM, "the data are damaged (checksum does not match)")                          \
    X(SOA_E_FILE, "a file could not be read or written")                                         \
    X(SOA_E_NO_CONVERGENCE, "an iteration did not converge")                                     \
    X(SOA_E_SINGULAR, "a singular system: what is given does not determine the answer")          \
    X(SOA_E_INCONSISTENT, "constraints contradict each other, or cannot be met by what may act") \
    X(SOA_E_BRANCHED, "the call is for unbranched chains, and a body carries more than one")     \
    X(SOA_E_ORDER,                                                                               \
      ("nothing to read: soa_kinematics (soa_rnea, soa_smoother) first, and after each call "    \
       "that takes q"))

typedef enum soa_status {
#define SOA_STATUS_ENUM_(code, text) code,
    SOA_STATUS_LIST(SOA_STATUS_ENUM_)
#undef SOA_STATUS_ENUM_
        SOA_STATUS_COUNT
} soa_status;

/* The text of a status; "unknown status" for a number that is not a status.  Strings that the
 * library returns and that belong to no object, such as this one, are constants. */
SOA_API const char *soa_status_text(soa_status status);

/* What went wrong, and where.  Functions that read data from outside (definitions, files) and long
 * computations fill a report.  The pointer to it may be NULL.  Every such function first resets the
 * report: SOA_OK, body -1, line 0, an empty text.  If the function fails, `status` is the status
 * that it returns, and `text` is not empty. */
typedef struct soa_report {
    soa_status status;
    int body;       /* number of the body in the definition, 0 is the world; -1: none */
    int line;       /* line in the file; 0: none */
    char text[768]; /* says what was found and what to do; long enough for a list of valid keys */
} soa_report;

/* The version of the library that runs; SOA_VERSION is that of the header. */
SOA_API const char *soa_version(void);

#ifdef __cplusplus
}
#endif
#endif
