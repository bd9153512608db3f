/* kernel_text.h  the sources of the sweeps, and of what calls them in generated code (generated/),
 *                carried along. */
#ifndef SOAI_KERNEL_TEXT_H
#define SOAI_KERNEL_TEXT_H
#include "../base/embedded_text.h"
extern const soai_text soai_kernel_text[];
extern const soai_text soai_generated_text[];
#endif
