/* visible.h  makes text from files safe to print on a terminal: characters that would control it,
 * hide text or reverse its direction are shown as escapes. */
#ifndef SOAI_VISIBLE_H
#define SOAI_VISIBLE_H
#include "soa/base.h"
#include <stddef.h>

/* Length in bytes of the character at `text`; `left` (at least 1) bytes are available. `escaped` is
 * empty if the character can be printed as it is; otherwise it is the text to print instead:
 *   \n \t \x1b   control characters (C0 and DEL), and bytes that are not UTF-8 (\x9b)
 *   \u009b       C1 control characters, line and paragraph separators, direction marks (U+061C,
 *                U+200E, U+200F, U+202A to U+202E, U+2066 to U+2069) */
#define SOAI_VISIBLE_ROOM 8
SOA_API size_t soai_visible(const char *text, size_t left, char escaped[SOAI_VISIBLE_ROOM]);
#endif
