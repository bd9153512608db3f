/* out.h  a growing output buffer with a file behind it; JSON's numbers and strings, HTML's text. */
#ifndef SOA_OUT_H
#define SOA_OUT_H

#include <stddef.h>

typedef struct app_out {
    char *data;
    size_t size, capacity;
    int fd;    /* -1: memory only                              */
    int error; /* errno of the first failure, then nothing more */
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

/* A JSON string; bytes that are not UTF-8 become U+FFFD. */
void out_string(app_out *out, const char *text);
/* Text for HTML and SVG, between tags or inside a quoted attribute; bytes that are no text become U+FFFD. */
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
