/* visible.h  text from files, made safe for a terminal: characters that would steer it, hide text or reverse its
 * direction are shown as escapes. */
#ifndef SOAI_VISIBLE_H
#define SOAI_VISIBLE_H
#include "soa/base.h"
#include <stddef.h>

/* Bytes of the character at `text`, of which `left` (1 or more) bytes are there.  `escaped` is empty if it may be shown
 * as it is, else what is shown instead:
 *   \n \t \x1b   control characters (C0 and DEL), and bytes that are not UTF-8 (\x9b)
 *   \u009b       C1 control characters, separators of lines and paragraphs, marks of direction (U+061C, U+200E,
 *                U+200F, U+202A to U+202E, U+2066 to U+2069)                                                        */
#define SOAI_VISIBLE_ROOM 8
SOA_API size_t soai_visible(const char *text, size_t left, char escaped[SOAI_VISIBLE_ROOM]);
#endif
