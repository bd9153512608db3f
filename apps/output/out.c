/* out.c  output buffer (out.h). */
#include "out.h"

#include "../../src/base/visible.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FLUSH_AT = 1 << 16 };

void out_start(app_out *out, int fd) {
    *out = (app_out){.fd = fd};
}

void out_free(app_out *out) {
    free(out->data);
    *out = (app_out){.fd = -1};
}

/* Last protection of the terminal, for bytes that did not come through out_print. */
static void clean(app_out *out) {
    size_t odd = 0;
    while (odd < out->size) {
        const unsigned char c = (unsigned char)out->data[odd];
        if ((c < ' ' && c != '\n' && c != '\t') || c >= 0x7f) break;
        ++odd;
    }
    if (odd == out->size || out->error) return;
    app_out shown;
    out_start(&shown, -1);
    for (size_t at = 0; at < out->size; ++at) {
        size_t end = at;
        while (end < out->size && out->data[end] != '\n' && out->data[end] != '\t')
            ++end;
        out_visible(&shown, out->data + at, end - at);
        if (end < out->size) out_char(&shown, out->data[end]);
        at = end;
    }
    if (shown.error) out->error = shown.error;
    free(out->data);
    out->data = shown.data;
    out->size = shown.size;
    out->capacity = shown.capacity;
}

int out_flush(app_out *out) {
    size_t done = 0;
    if ((out->fd == STDOUT_FILENO || out->fd == STDERR_FILENO) && !out->coloured) clean(out);
    while (done < out->size && !out->error && out->fd >= 0) {
        const ssize_t n = write(out->fd, out->data + done, out->size - done);
        if (n > 0)
            done += (size_t)n;
        else if (n == 0 || errno != EINTR)
            out->error = n == 0 ? EIO : errno;
    }
    out->size = 0;
    return out->error ? -1 : 0;
}

/* Makes room for `more` bytes. Returns NULL after a failure. */
static char *room(app_out *out, size_t more) {
    if (out->error) return NULL;
    if (more > out->capacity - out->size) {
        size_t want = out->capacity < FLUSH_AT ? 2 * (size_t)FLUSH_AT : out->capacity;
        while (want - out->size < more && want <= SIZE_MAX / 2)
            want *= 2;
        char *grown = want - out->size < more ? NULL : realloc(out->data, want);
        if (!grown) {
            out->error = ENOMEM;
            return NULL;
        }
        out->data = grown;
        out->capacity = want;
    }
    return out->data + out->size;
}

void out_bytes(app_out *out, const char *text, size_t length) {
    char *at = room(out, length);
    if (at && length) {
        memcpy(at, text, length);
        out->size += length;
    }
}

void out_text(app_out *out, const char *text) {
    out_bytes(out, text, strlen(text));
}

void out_char(app_out *out, char c) {
    out_bytes(out, &c, 1);
}

void out_format(app_out *out, const char *format, ...) {
    va_list arguments, again;
    va_start(arguments, format);
    va_copy(again, arguments);
    int length = vsnprintf(NULL, 0, format, arguments);
    char *at = length < 0 ? NULL : room(out, (size_t)length + 1);
    if (at) {
        vsnprintf(at, (size_t)length + 1, format, again);
        out->size += (size_t)length;
    }
    va_end(again);
    va_end(arguments);
}

void out_visible(app_out *out, const char *text, size_t length) {
    for (size_t at = 0; at < length;) {
        char escaped[SOAI_VISIBLE_ROOM];
        const size_t n = soai_visible(text + at, length - at, escaped);
        if (escaped[0])
            out_bytes(out, escaped, strlen(escaped));
        else
            out_bytes(out, text + at, n);
        at += n;
    }
}

/* --- formats whose texts come from files ------------------------------------------------------ */
enum { SPEC_ROOM = 64 };
typedef struct conversion {
    /* The conversion up to its letter, with numbers for the stars, without the precision of a
     * text. */
    char spec[SPEC_ROOM];
    char length[3]; /* "", "l", "ll", "z" ... */
    char letter;
    int precision; /* precision of a text; -1: none */
} conversion;

/* Reads a conversion after its '%'. Returns the position after it. */
static const char *read_conversion(conversion *c, const char *at, va_list *list) {
    size_t size = 0;
    int in_precision = 0, precision = 0;
    *c = (conversion){.precision = -1};
    c->spec[size++] = '%';
    for (; *at && strchr("-+ #0123456789.*", *at); ++at) {
        if (size + 16 > sizeof c->spec) continue;
        if (*at == '.') {
            in_precision = 1;
            c->spec[size++] = '.';
        } else if (*at == '*') {
            const int value = va_arg(*list, int);
            if (in_precision) precision = value;
            size += (size_t)snprintf(c->spec + size, sizeof c->spec - size, "%d", value);
        } else {
            if (in_precision) precision = 10 * precision + (*at - '0');
            c->spec[size++] = *at;
        }
    }
    c->spec[size] = 0;
    for (size_t n = 0; *at && strchr("hljzt", *at); ++at)
        if (n < 2) c->length[n++] = *at;
    c->letter = *at;
    if (c->letter == 's' && in_precision) {
        c->precision = precision;
        *strchr(c->spec, '.') = 0;
    }
    return *at ? at + 1 : at;
}
static void print_text(app_out *out, const conversion *c, const char *text) {
    app_out shown;
    char format[SPEC_ROOM + 2];
    size_t length = 0;
    if (!text) text = "(null)";
    while (text[length] && (c->precision < 0 || length < (size_t)c->precision))
        ++length;
    /* Do not cut inside a UTF-8 character. */
    while (text[length] && length > 0 && ((unsigned char)text[length] & 0xc0) == 0x80)
        --length;
    out_start(&shown, -1);
    out_visible(&shown, text, length);
    out_char(&shown, 0);
    snprintf(format, sizeof format, "%ss", c->spec);
    if (shown.error)
        out->error = shown.error;
    else
        out_format(out, format, shown.data);
    out_free(&shown);
}
void out_vprint(app_out *out, const char *format, va_list arguments) {
    va_list list;
    va_copy(list, arguments);
    while (*format) {
        const size_t literal = strcspn(format, "%");
        out_bytes(out, format, literal);
        format += literal;
        if (!*format) break;
        conversion c;
        char whole[SPEC_ROOM + 4];
        format = read_conversion(&c, format + 1, &list);
        snprintf(whole, sizeof whole, "%s%s%c", c.spec, c.length, c.letter);
        if (c.letter == '%')
            out_char(out, '%');
        else if (c.letter == 's')
            print_text(out, &c, va_arg(list, const char *));
        /* NOLINTBEGIN(bugprone-branch-clone): the branches differ in the type that va_arg takes */
        else if (c.letter && strchr("eEfFgGaA", c.letter))
            out_format(out, whole, va_arg(list, double));
        else if (!strcmp(c.length, "ll") || !strcmp(c.length, "j"))
            out_format(out, whole, va_arg(list, long long));
        else if (!strcmp(c.length, "l"))
            out_format(out, whole, va_arg(list, long));
        else if (!strcmp(c.length, "z") || !strcmp(c.length, "t"))
            out_format(out, whole, va_arg(list, size_t));
        else if (c.letter)
            out_format(out, whole, va_arg(list, int));
        /* NOLINTEND(bugprone-branch-clone) */
    }
    va_end(list);
}
void out_print(app_out *out, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    out_vprint(out, format, arguments);
    va_end(arguments);
}

/* --- messages of the program ------------------------------------------------------------------ */
static int print_error;
int app_print_error(void) {
    return print_error;
}
static int say(int fd, const char *format, va_list arguments) {
    app_out out;
    out_start(&out, fd);
    /* The format is our own; texts were made visible one by one. */
    out.coloured = 1;
    out_vprint(&out, format, arguments);
    out_flush(&out);
    const int error = out.error;
    out_free(&out);
    return error;
}
void app_print(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    const int error = say(STDOUT_FILENO, format, arguments);
    va_end(arguments);
    if (!print_error) print_error = error;
}
void app_note(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    say(STDERR_FILENO, format, arguments);
    va_end(arguments);
}

/* --- JSON and HTML ---------------------------------------------------------------------------- */
/* Number of bytes of the character at s, the text it is shown as (empty: itself), and whether it is
 * not UTF-8. */
static size_t next_character(const char *s, char escaped[SOAI_VISIBLE_ROOM], int *broken) {
    const size_t n = soai_visible(s, strlen(s) < 4 ? strlen(s) : 4, escaped);
    *broken = escaped[0] == '\\' && escaped[1] == 'x' && (unsigned char)*s >= 0x80;
    return n;
}

void out_string(app_out *out, const char *text) {
    out_char(out, '"');
    for (const char *s = text; *s;) {
        char escaped[SOAI_VISIBLE_ROOM];
        int broken;
        const size_t n = next_character(s, escaped, &broken);
        if (broken)
            out_text(out, "\xef\xbf\xbd");
        else if (*s == '"' || *s == '\\')
            out_format(out, "\\%c", *s);
        else if (escaped[0] && n == 1)
            out_format(out, "\\u%04x", (unsigned)*s);
        else if (escaped[0])
            out_text(out, escaped); /* with JSON's escapes */
        else
            out_bytes(out, s, n);
        s += n;
    }
    out_char(out, '"');
}

void out_html(app_out *out, const char *text) {
    for (const char *s = text; *s;) {
        char escaped[SOAI_VISIBLE_ROOM];
        int broken;
        size_t n = next_character(s, escaped, &broken);
        const char *instead = NULL;
        if (*s == '&')
            instead = "&amp;";
        else if (*s == '<')
            instead = "&lt;";
        else if (*s == '>')
            instead = "&gt;";
        else if (*s == '"')
            instead = "&quot;";
        else if (*s == '\'')
            instead = "&#39;";
        else if (escaped[0] && *s != '\n' && *s != '\t')
            instead = "\xef\xbf\xbd";
        if (instead)
            out_text(out, instead);
        else
            out_bytes(out, s, n);
        s += n;
    }
}

void out_number(app_out *out, double x) {
    if (!isfinite(x)) {
        out_text(out, "null");
        return;
    }
    char *at = room(out, NUMBER_ROOM);
    if (at) out->size += number_print(at, x);
}

long out_vector(app_out *out, const double *x, size_t count) {
    long bad = -1;
    out_char(out, '[');
    for (size_t i = 0; i < count; ++i) {
        if (i) out_bytes(out, ", ", 2);
        if (!isfinite(x[i]) && bad < 0) bad = (long)i;
        out_number(out, x[i]);
    }
    out_char(out, ']');
    return bad;
}

long out_matrix(app_out *out, const double *x, size_t rows, size_t columns) {
    long bad = -1;
    out_char(out, '[');
    for (size_t i = 0; i < rows; ++i) {
        if (i) out_bytes(out, ", ", 2);
        long at = out_vector(out, x + i * columns, columns);
        if (at >= 0 && bad < 0) bad = (long)(i * columns) + at;
    }
    out_char(out, ']');
    return bad;
}
