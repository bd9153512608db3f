/* embedded_text.h  a text file compiled into the library (cmake/embed.cmake). Lists end with a NULL
 * name. */
#ifndef SOAI_EMBEDDED_TEXT_H
#define SOAI_EMBEDDED_TEXT_H
typedef struct soai_text {
    const char *name, *text;
} soai_text;
#endif
