/* out.h  a growing output buffer with a file behind it; JSON's numbers and strings, HTML's text. */
#ifndef SOA_OUT_H
#define SOA_OUT_H

#include <stdarg.h>
#include <stddef.h>

typedef struct app_out {
    char *data;
    size_t size, capacity;
    int fd;       /* -1: memory only                              */
    int error;    /* errno of the first failure, then nothing more */
    int coloured; /* our own escape sequences are in it: to the terminal as it is */
} app_out;

void out_start(app_out *out, int fd);
void out_free(app_out *out);
/* Writes what is buffered.  0 or -1, with out->error set. */
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
/* For people: as out_format, but what %s inserts (names and texts from files) cannot steer a terminal or begin a line:
 * its control characters, marks of direction and broken bytes are shown as escapes (src/base/visible.h).  The
 * conversions of printf but %n, %p and long double. */
void out_print(app_out *out, const char *format, ...) OUT_LIKE_PRINTF(2, 3);
void out_vprint(app_out *out, const char *format, va_list arguments);
/* Text with such escapes. */
void out_visible(app_out *out, const char *text, size_t length);

/* The same to standard output and to standard error, at once; all that the program says there goes through them. */
void app_print(const char *format, ...) OUT_LIKE_PRINTF(1, 2);
void app_note(const char *format, ...) OUT_LIKE_PRINTF(1, 2);
/* errno of the first failed app_print, 0: none. */
int app_print_error(void);

/* A JSON string; bytes that are not UTF-8 become U+FFFD, what could steer a terminal is escaped. */
void out_string(app_out *out, const char *text);
/* Text for HTML and SVG, between tags or inside a quoted attribute; what is no text becomes U+FFFD. */
void out_html(app_out *out, const char *text);
/* A JSON number of 17 digits, null if it is not finite. */
void out_number(app_out *out, double x);
/* [x, y, ...]; returns the place of the first number that is not finite, or -1. */
long out_vector(app_out *out, const double *x, size_t count);
/* [[...], ...] row by row, likewise. */
long out_matrix(app_out *out, const double *x, size_t rows, size_t columns);

/* Room for one number as text, and the text: as "%.17g" prints it in the C locale.  Returns its length. */
#define NUMBER_ROOM 32
size_t number_print(char text[NUMBER_ROOM], double x);

#endif
