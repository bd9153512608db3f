/* nearest.h  "did you mean": the program's names for the helper it shares with the readers of files. */
#ifndef SOA_NEAREST_H
#define SOA_NEAREST_H
#include "../../src/base/nearest.h"

#define APP_HINT SOAI_HINT
typedef soai_nearest app_nearest;
#define app_nearest_to soai_nearest_to
#define app_nearest_try soai_nearest_try
#define app_nearest_hint soai_nearest_hint

#endif
