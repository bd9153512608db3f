/* number.c  prints doubles with 17 significant digits: the same characters as "%.17g", about ten
 * times as fast.
 *
 * x = m 2^e is scaled by a power of ten known to 128 bits, so that its integer part contains the 17
 * digits. The power is accurate to 2^-116, so the fraction is accurate to 2^-58. Unless the
 * fraction is that close to one half (where only exact arithmetic can round), its rounding is
 * certain. The rare other cases use snprintf. */
#include "out.h"

#include <locale.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* Uses snprintf, and replaces the locale's decimal point by '.'. */
static size_t print_slowly(char text[NUMBER_ROOM], double x) {
    int length = snprintf(text, NUMBER_ROOM, "%.17g", x);
    const char *point = localeconv()->decimal_point;
    char *found = point[0] != '.' && point[0] != '\0' ? strstr(text, point) : NULL;
    if (found) {
        size_t width = strlen(point);
        *found = '.';
        memmove(found + 1, found + width, strlen(found + width) + 1);
        length -= (int)width - 1;
    }
    return (size_t)length;
}

#ifdef __SIZEOF_INT128__

__extension__ typedef unsigned __int128 wide;

enum { POWER_MIN = -292, POWER_MAX = 341, DIGITS = 17 };
#define TEN16 10000000000000000u
#define TEN17 100000000000000000u

/* 10^p = value 2^exponent with value in [2^127, 2^128). Each step truncates by at most two units in
 * the last place. */
typedef struct power {
    wide value;
    int exponent;
} power;

static const power *powers_of_ten(void) {
    static power table[POWER_MAX - POWER_MIN + 1];
    static int ready;
    if (ready) return table - POWER_MIN;
    const wide top = (wide)1 << 127;
    table[-POWER_MIN] = (power){top, -127};
    for (int p = 1; p <= POWER_MAX; ++p) {
        power x = table[p - 1 - POWER_MIN];
        wide next = x.value + (x.value >> 2); /* 10 = 1.25 * 2^3 */
        int carry = next < x.value;
        table[p - POWER_MIN] = (power){carry ? (next >> 1) | top : next, x.exponent + 3 + carry};
    }
    for (int p = -1; p >= POWER_MIN; --p) {
        power x = table[p + 1 - POWER_MIN];
        wide next = x.value - x.value / 5; /* 1/10 = 0.8 / 2^3 */
        int carry = next < top;
        table[p - POWER_MIN] = (power){carry ? next << 1 : next, x.exponent - 3 - carry};
    }
    ready = 1;
    return table - POWER_MIN;
}

/* The 17 digits of x > 0 as an integer, x ~ digits 10^(k - 16). 0 if the rounding is not
 * certain. */
static uint64_t digits_of(double x, int *k) {
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    int exponent = (int)(bits >> 52);
    uint64_t m = bits & 0xfffffffffffffu;
    if (exponent == 0)
        exponent = 1;
    else
        m |= (uint64_t)1 << 52;
    int shift = __builtin_clzll(m);
    m <<= shift;
    exponent -= 1075 + shift; /* x = m 2^exponent, m in [2^63, 2^64) */

    const power *ten = powers_of_ten();
    /* log10(2) = 0.30103: first guess of floor(log10 x), correct or one too low */
    int guess = (int)floor((exponent + 63) * 0.30102999566398120);
    for (int tries = 0; tries < 3; ++tries) {
        power s = ten[DIGITS - 1 - guess];
        wide product = (wide)m * (uint64_t)(s.value >> 64) + ((wide)m * (uint64_t)s.value >> 64);
        int cut = -(64 + exponent + s.exponent);
        if (cut < 64 || cut > 127) return 0;
        uint64_t whole = (uint64_t)(product >> cut);
        if (whole >= TEN17) {
            ++guess;
            continue;
        }
        if (whole < TEN16) {
            --guess;
            continue;
        }
        wide half = (wide)1 << (cut - 1), rest = product & ((half << 1) - 1),
             margin = (wide)1 << (cut - 54);
        if (rest - (half - margin) < 2 * margin) return 0;
        whole += rest > half;
        if (whole == TEN17) {
            whole = TEN16;
            ++guess;
        }
        *k = guess;
        return whole;
    }
    return 0;
}

size_t number_print(char text[NUMBER_ROOM], double x) {
    char *at = text, digit[DIGITS];
    int k = 0;
    if (signbit(x)) {
        *at++ = '-';
        x = -x;
    }
    if (x == 0) {
        memcpy(at, "0", 2);
        return (size_t)(at + 1 - text);
    }
    uint64_t whole = isfinite(x) ? digits_of(x, &k) : 0;
    if (whole == 0) return print_slowly(at, x) + (size_t)(at - text);
    for (int i = DIGITS - 1; i >= 0; --i, whole /= 10)
        digit[i] = (char)('0' + whole % 10);
    int used = DIGITS;
    while (used > 1 && digit[used - 1] == '0')
        --used;

    if (k < -4 || k >= DIGITS) { /* form d.ddde-07 */
        *at++ = digit[0];
        if (used > 1) {
            *at++ = '.';
            memcpy(at, digit + 1, (size_t)(used - 1));
            at += used - 1;
        }
        return (size_t)(at - text) + (size_t)snprintf(at, 8, "e%+03d", k);
    }
    int before = k + 1; /* number of digits before the point */
    if (before <= 0) {
        memcpy(at, "0.000", 5);
        at += 2 - before;
        memcpy(at, digit, (size_t)used);
        at += used;
    } else {
        memcpy(at, digit, (size_t)before);
        at += before;
        if (used > before) {
            *at++ = '.';
            memcpy(at, digit + before, (size_t)(used - before));
            at += used - before;
        }
    }
    *at = '\0';
    return (size_t)(at - text);
}

#else

size_t number_print(char text[NUMBER_ROOM], double x) {
    return print_slowly(text, x);
}

#endif
