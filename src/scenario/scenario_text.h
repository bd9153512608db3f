/* scenario_text.h  texts of the shipped scenarios, embedded by cmake/embed.cmake. The list ends
 * with NULL. */
#ifndef SOAI_SCENARIO_TEXT_H
#define SOAI_SCENARIO_TEXT_H
#include "../base/embedded_text.h"
extern const soai_text soai_scenario_text[];
#endif
