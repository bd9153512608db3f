/* compute.h  one line of `soa compute`: reads a state in JSON and writes the requested quantities
 * in JSON. */
#ifndef SOA_COMPUTE_H
#define SOA_COMPUTE_H

#include "../output/out.h"
#include "soa/io.h"

/* The quantities: name (NULL after the last), and what may follow a colon. */
typedef enum compute_suffix { TAKES_NOTHING, TAKES_LINK, TAKES_METHOD, TAKES_JOINT } compute_suffix;
typedef struct compute_function {
    const char *name;
    compute_suffix takes;
} compute_function;
extern const compute_function compute_functions[];
extern const char *const compute_methods[]; /* methods of closed; ends with NULL */

typedef struct compute compute;

/* Prepares the comma-separated list for a model, which must outlive it, and its constraints (NULL:
 * none). Returns NULL on failure; message explains why. */
#define COMPUTE_MESSAGE 1024
compute *compute_create(const soa_model *model, const soa_constraint_list *constraints,
                        const char *list, char message[COMPUTE_MESSAGE]);
void compute_free(compute *c);
/* Lists with commas those quantities whose values would differ if the constraints were taken into
 * account; empty: none. */
void compute_tree_alone(const compute *c, char names[COMPUTE_MESSAGE]);

/* Answers one input line (without its newline) as one output line. The outcome says whether the
 * answer is an error object {"line": number, "error": ...}; compute_error() then returns its text.
 * A blank line gives no output. */
typedef enum compute_outcome { COMPUTE_ANSWERED, COMPUTE_BAD, COMPUTE_BLANK } compute_outcome;
compute_outcome compute_line(compute *c, const char *text, size_t length, unsigned long number,
                             app_out *out);
const char *compute_error(const compute *c);

/* The fast reader handles the plain form {"q": [numbers], ...} and passes everything else, and
 * every mistake, to the full JSON reader. Both give the same numbers. With `on`, only the full
 * reader is used: for tests that compare the two. */
void compute_full_reader_only(compute *c, int on);

#endif
