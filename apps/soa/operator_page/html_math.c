/* html_math.c  writes expressions and recursions as HTML with the papers' symbols: phi' becomes a
 * Greek letter with a star, inv(D) a power, z12 a letter with an index. Other names are not
 * changed, only escaped. */
#include "op_page.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

static const struct {
    const char *name, *html;
} letters[] = {
    {"phi", "φ"},
    {"psi", "ψ"},
    {"phit", "<span class=\"tilde\">φ</span>"},
    {"psit", "<span class=\"tilde\">ψ</span>"},
    {"Phi", "Φ"},
    {"Psi", "Ψ"},
    {"Delta_phi", "Δ<sub>φ</sub>"},
    {"Delta_psi", "Δ<sub>ψ</sub>"},
    {"E_phi", "E<sub>φ</sub>"},
    {"E_psi", "E<sub>ψ</sub>"},
    {"thd", "<i class=\"dot\">θ</i>"},
    {"thdd", "<i class=\"dots2\">θ</i>"},
    {"alpha", "<i>α</i>"},
    {"Mc", "M<sub>c</sub>"},
    {"Jr", "J<sub>r</sub>"},
    {"f0", "<i>f</i>(0)"},
    {"sum", "Σ"},
};

static void put_name(app_out *out, const char *name, int loops) {
    if (loops && !strcmp(name, "f0")) {
        out_text(out, "<i>f</i>");
        return;
    }
    for (size_t i = 0; i < sizeof letters / sizeof *letters; ++i)
        if (!strcmp(name, letters[i].name)) {
            out_text(out, letters[i].html);
            return;
        }
    const size_t digits = strspn(name + 1, "0123456789"), length = strlen(name);
    /* A value of the plan. */
    if (loops && strchr("ezytc", name[0]) && digits && digits + 1 == length)
        out_format(out, "<i>%c</i><sub>%s</sub>", name[0], name + 1);
    else if (length == 1 && strchr("TabVgxkpc", name[0]))
        out_format(out, "<i>%c</i>", name[0]);
    else
        out_html(out, name);
}

void html_math(app_out *out, const char *text, int loops) {
    enum { DEEP = 256 };
    /* For each open parenthesis: does an exponent -1 follow it? */
    char power[DEEP];
    int depth = 0;
    for (const char *s = text; *s;) {
        if (isalpha((unsigned char)*s)) {
            char name[64];
            size_t n = 1;
            while (isalnum((unsigned char)s[n]) || s[n] == '_')
                ++n;
            snprintf(name, sizeof name, "%.*s", (int)n, s);
            if (!strcmp(name, "inv") && s[n] == '(' && depth < DEEP) {
                const char *in = s + n + 1;
                size_t m = 0;
                while (isalnum((unsigned char)in[m]) || in[m] == '_')
                    ++m;
                const int at_k = loops && !strncmp(in + m, "(k))", 4); /* inv(D(k)) */
                if (m && (in[m] == ')' || at_k) && m < sizeof name) {  /* inv(D) */
                    snprintf(name, sizeof name, "%.*s", (int)m, in);
                    put_name(out, name, loops);
                    out_text(out, at_k ? "<sup>−1</sup>(<i>k</i>)" : "<sup>−1</sup>");
                    s = in + m + (at_k ? 4 : 1);
                } else {
                    out_char(out, '(');
                    power[depth++] = 1;
                    s = in;
                }
                continue;
            }
            const int before = s == text || s[-1] == ' ';
            if (loops && before && n == 1 && *s == 'x' &&
                (s[1] == ' ' || (s[1] == '*' && s[2] == ' '))) {
                out_text(out, s[1] == '*' ? "×<sup>*</sup>" : "×");
                s += s[1] == '*' ? 2 : 1;
                continue;
            }
            put_name(out, name, loops);
            s += n;
            if (loops && s[0] == '+' && s[1] == '(') {
                out_text(out, "<sup>+</sup>");
                ++s; /* P+(c) */
            }
            continue;
        }
        if (*s == '\'') {
            out_text(out, "<sup>*</sup>");
        } else if (*s == '(' && depth < DEEP) {
            power[depth++] = 0;
            out_char(out, '(');
        } else if (*s == ')') {
            out_text(out, depth > 0 && power[--depth] ? ")<sup>−1</sup>" : ")");
        } else if (*s == '-') {
            out_text(out, "−");
        } else {
            size_t n = 1; /* everything else unchanged, whole characters at a time */
            while (s[n] && ((unsigned char)s[n] & 0xc0) == 0x80)
                ++n;
            char piece[8];
            snprintf(piece, sizeof piece, "%.*s", (int)(n < 7 ? n : 7), s);
            out_html(out, piece);
            s += n;
            continue;
        }
        ++s;
    }
}
