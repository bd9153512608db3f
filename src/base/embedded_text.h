/* embedded_text.h  a file carried along in the library (cmake/embed.cmake); lists end with a NULL name. */
#ifndef SOAI_EMBEDDED_TEXT_H
#define SOAI_EMBEDDED_TEXT_H
typedef struct soai_text {
    const char *name, *text;
} soai_text;
#endif
