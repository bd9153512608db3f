/* kernel_text.h  the sources of the sweeps, carried along for generated code. */
#ifndef SOAI_KERNEL_TEXT_H
#define SOAI_KERNEL_TEXT_H
typedef struct soai_text {
    const char *name, *text;
} soai_text;
extern const soai_text soai_kernel_text[];
#endif
