/* scenario_text.h  the shipped scenarios' files, embedded by cmake/embed.cmake; the list ends with NULL. */
#ifndef SOAI_SCENARIO_TEXT_H
#define SOAI_SCENARIO_TEXT_H
#include "../base/embedded_text.h"
extern const soai_text soai_scenario_text[];
#endif
