/* out.c  the output buffer. */
#include "out.h"

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

int out_flush(app_out *out) {
    size_t done = 0;
    while (done < out->size && !out->error && out->fd >= 0) {
        ssize_t n = write(out->fd, out->data + done, out->size - done);
        if (n >= 0)
            done += (size_t)n;
        else if (errno != EINTR)
            out->error = errno;
    }
    out->size = 0;
    return out->error ? -1 : 0;
}

/* Makes room for `more` bytes; NULL after a failure. */
static char *room(app_out *out, size_t more) {
    if (out->error) return NULL;
    if (more > out->capacity - out->size) {
        size_t want = out->capacity < FLUSH_AT ? 2 * (size_t)FLUSH_AT : out->capacity;
        while (want - out->size < more && want <= SIZE_MAX / 2) want *= 2;
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

/* Length of the valid UTF-8 sequence at s, 0 if there is none (overlong, surrogate, cut off). */
static size_t utf8_length(const unsigned char *s) {
    if (s[0] < 0x80) return 1;
    size_t n = s[0] >= 0xc2 && s[0] <= 0xdf ? 2 : (s[0] & 0xf0) == 0xe0 ? 3 : s[0] >= 0xf0 && s[0] <= 0xf4 ? 4 : 0;
    for (size_t i = 1; i < n; ++i)
        if ((s[i] & 0xc0) != 0x80) return 0;
    if ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] > 0x9f) || (s[0] == 0xf0 && s[1] < 0x90) ||
        (s[0] == 0xf4 && s[1] > 0x8f))
        return 0;
    return n;
}

void out_string(app_out *out, const char *text) {
    const unsigned char *s = (const unsigned char *)text;
    out_char(out, '"');
    while (*s) {
        size_t n = utf8_length(s);
        if (n == 0) {
            out_text(out, "\xef\xbf\xbd");
            n = 1;
        } else if (*s == '"' || *s == '\\') {
            out_char(out, '\\');
            out_char(out, (char)*s);
        } else if (*s < 0x20 || *s == 0x7f) {
            out_format(out, "\\u%04x", *s);
        } else {
            out_bytes(out, (const char *)s, n);
        }
        s += n;
    }
    out_char(out, '"');
}

void out_html(app_out *out, const char *text) {
    const unsigned char *s = (const unsigned char *)text;
    while (*s) {
        size_t n = utf8_length(s);
        const char *instead = *s == '&'                               ? "&amp;"
                              : *s == '<'                             ? "&lt;"
                              : *s == '>'                             ? "&gt;"
                              : *s == '"'                             ? "&quot;"
                              : *s == '\''                            ? "&#39;"
                              : n == 0 || *s == 0x7f                  ? "\xef\xbf\xbd"
                              : *s < 0x20 && *s != '\n' && *s != '\t' ? "\xef\xbf\xbd"
                                                                      : NULL;
        if (instead)
            out_text(out, instead), n = 1;
        else
            out_bytes(out, (const char *)s, n);
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
