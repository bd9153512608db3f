/* out.h  growing output buffer, written to a file descriptor; JSON numbers and strings, HTML
 * text. */
#ifndef SOA_OUT_H
#define SOA_OUT_H

#include <stdarg.h>
#include <stddef.h>

typedef struct app_out {
    char *data;
    size_t size, capacity;
    int fd;    /* -1: memory only */
    int error; /* errno of the first failure; after it nothing is written */
    /* Contains our own escape sequences: written to the terminal unchanged. */
    int coloured;
} app_out;

void out_start(app_out *out, int fd);
void out_free(app_out *out);
/* Writes the buffered bytes. Returns 0, or -1 with out->error set. */
int out_flush(app_out *out);

void out_bytes(app_out *out, const char *text, size_t length);
void out_text(app_out *out, const char *text);
void out_char(app_out *out, char c);
void out_format(app_out *out, const char *format, ...)
#if defined(__GNUC__)
    __attribute__((format(printf, 2, 3)))
#endif
    ;

#if defined(__GNUC__)
#define OUT_LIKE_PRINTF(at, first) __attribute__((format(printf, at, first)))
#else
#define OUT_LIKE_PRINTF(at, first)
#endif
/* For people. Like out_format, but text inserted by %s (names and texts from files) cannot
 * control a terminal or begin a line: control characters, direction marks and broken bytes are
 * shown as escapes (src/base/visible.h). Supports the conversions of printf except %n, %p and
 * long double. */
void out_print(app_out *out, const char *format, ...) OUT_LIKE_PRINTF(2, 3);
void out_vprint(app_out *out, const char *format, va_list arguments);
/* Writes text with such escapes. */
void out_visible(app_out *out, const char *text, size_t length);

/* The same to standard output and standard error, immediately. All messages of the program use
 * these. */
void app_print(const char *format, ...) OUT_LIKE_PRINTF(1, 2);
void app_note(const char *format, ...) OUT_LIKE_PRINTF(1, 2);
/* errno of the first failed app_print; 0: none failed. */
int app_print_error(void);

/* Writes a JSON string. Bytes that are not UTF-8 become U+FFFD; characters that could control a
 * terminal are escaped. */
void out_string(app_out *out, const char *text);
/* Writes text for HTML and SVG, between tags or inside a quoted attribute. Bytes that are not text
 * become U+FFFD. */
void out_html(app_out *out, const char *text);
/* Writes a JSON number with 17 digits, or null if it is not finite. */
void out_number(app_out *out, double x);
/* Writes [x, y, ...]. Returns the index of the first number that is not finite, or -1. */
long out_vector(app_out *out, const double *x, size_t count);
/* Writes [[...], ...] row by row; same result. */
long out_matrix(app_out *out, const double *x, size_t rows, size_t columns);

/* Writes one number as "%.17g" in the C locale. Returns its length; NUMBER_ROOM bytes are
 * enough. */
#define NUMBER_ROOM 32
size_t number_print(char text[NUMBER_ROOM], double x);

#endif
