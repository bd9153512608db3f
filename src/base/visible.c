/* visible.c  makes text from files safe to print on a terminal. */
#include "visible.h"

#include <stdint.h>
#include <stdio.h>

enum { DELETE = 0x7f, C1_FIRST = 0x80, C1_LAST = 0x9f };

/* Decodes the character at s and returns its length; 0 if it is not valid UTF-8 (overlong, a
 * surrogate, too large or cut off). */
static size_t decode(const unsigned char *s, size_t left, uint32_t *code) {
    static const uint32_t least[5] = {0, 0, 0x80, 0x800, 0x10000};
    size_t n = 1;
    if (s[0] >= 0xf0 && s[0] < 0xf8)
        n = 4;
    else if (s[0] >= 0xe0)
        n = 3;
    else if (s[0] >= 0xc0)
        n = 2;
    if (s[0] >= 0xf8 || (s[0] >= 0x80 && s[0] < 0xc0) || n > left) return 0;
    *code = n == 1 ? s[0] : s[0] & (0x7fu >> n);
    for (size_t i = 1; i < n; ++i) {
        if ((s[i] & 0xc0) != 0x80) return 0;
        *code = *code << 6 | (s[i] & 0x3fu);
    }
    const int surrogate = *code >= 0xd800 && *code <= 0xdfff;
    return *code < least[n] || surrogate || *code > 0x10ffff ? 0 : n;
}
static int is_steering(uint32_t c) {
    return (c >= C1_FIRST && c <= C1_LAST) || c == 0x061c || c == 0x200e || c == 0x200f ||
           (c >= 0x2028 && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069);
}

size_t soai_visible(const char *text, size_t left, char escaped[SOAI_VISIBLE_ROOM]) {
    const unsigned char *s = (const unsigned char *)text;
    uint32_t code = 0;
    const size_t n = decode(s, left, &code);
    escaped[0] = 0;
    if (n == 0 || code < ' ' || code == DELETE) {
        if (n && (code == '\n' || code == '\t'))
            snprintf(escaped, SOAI_VISIBLE_ROOM, "\\%c", code == '\n' ? 'n' : 't');
        else
            snprintf(escaped, SOAI_VISIBLE_ROOM, "\\x%02x", s[0]);
        return 1;
    }
    if (is_steering(code))
        snprintf(escaped, SOAI_VISIBLE_ROOM, "\\u%04x", (unsigned)(code & 0xffffu));
    return n;
}
