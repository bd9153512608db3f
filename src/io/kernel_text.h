/* kernel_text.h  the sources of the sweeps, carried along for generated code. */
#ifndef SOAI_KERNEL_TEXT_H
#define SOAI_KERNEL_TEXT_H
#include "../base/embedded_text.h"
extern const soai_text soai_kernel_text[];
#endif
