/* tables.h  table_fields.h for both constant types. */
#ifndef SOAI_VIEWS_H
#define SOAI_VIEWS_H
#define SOAI_KONST double
#define SOAI_VIEW(name) soai_##name##_double
#include "table_fields.h"
#undef SOAI_KONST
#undef SOAI_VIEW
#define SOAI_KONST float
#define SOAI_VIEW(name) soai_##name##_float
#include "table_fields.h"
#undef SOAI_KONST
#undef SOAI_VIEW
#endif
