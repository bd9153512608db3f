/* soa/base.h  status codes and the text that goes with them.
 *
 * Every libsoa call that can fail returns a soa_status; results leave through pointers and are
 * written only on SOA_OK.  No call prints, exits, locks or (after the work space exists) allocates.
 *
 * NULL never crashes.  A pointer that a call needs and does not get is SOA_E_ARGUMENT (SOA_E_MEMORY
 * for a missing work space or model memory).  A call without a status returns a neutral value: 0
 * for a count, size or number, -1 for the number of something that is searched for, NULL for an
 * object or array, "" for a name, the identity for a frame; one that returns nothing does nothing,
 * or writes zeros where only its input is missing.  Exceptions are documented with the function.
 * tests/model/test_null.c calls every public function with NULL. */
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
#define SOA_VERSION                   \
    SOA_VERSION_DIGITS_(SOA_VERSION_MAJOR) \
    "." SOA_VERSION_DIGITS_(SOA_VERSION_MINOR) "." SOA_VERSION_DIGITS_(SOA_VERSION_PATCH)
#define SOA_VERSION_DIGITS_(number) SOA_VERSION_QUOTED_(number)
#define SOA_VERSION_QUOTED_(digits) #digits

#if defined(__GNUC__)
#define SOA_API __attribute__((visibility("default")))
#else
#define SOA_API
#endif

/* One list: code, text. soa_status_text() and the enum both come from it. */
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
    X(SOA_E_ORDER, "nothing to read: soa_kinematics (soa_rnea, soa_smoother) first, and after "  \
                   "each call that takes q")

typedef enum soa_status {
#define SOA_STATUS_ENUM_(code, text) code,
    SOA_STATUS_LIST(SOA_STATUS_ENUM_)
#undef SOA_STATUS_ENUM_
        SOA_STATUS_COUNT
} soa_status;

/* The text of a status; never NULL ("unknown status" for a number that is none).  Texts that the
 * library gives out and that belong to no object, as this one, are constant unless it is said. */
SOA_API const char *soa_status_text(soa_status status);

/* What went wrong, where: filled by calls that take outside data (building, loading, reading
 * files).  All of them take NULL for it.  Read it after a failure only: on SOA_OK some calls write
 * SOA_OK, body -1 and an empty text, others leave it as it was; and a few do so where a pointer is
 * missing (SOA_E_ARGUMENT). */
typedef struct soa_report {
    soa_status status;
    int body;       /* number of the body (definition order, the world being 0), or -1 */
    int line;       /* line in the file, or 0                                          */
    char text[768]; /* a sentence a person can act on; room for a list of all valid keys */
} soa_report;

/* The library's version as text, e.g. "0.2.0". */
SOA_API const char *soa_version(void);

#ifdef __cplusplus
}
#endif
#endif
