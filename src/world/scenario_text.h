/* scenario_text.h  the shipped scenarios' files, embedded by cmake/embed.cmake; the list ends with NULL. */
#ifndef SOAI_SCENARIO_TEXT_H
#define SOAI_SCENARIO_TEXT_H
typedef struct soai_text {
    const char *name, *text;
} soai_text;
extern const soai_text soai_scenario_text[];
#endif
