/* oracle_complex.c  the sweeps over complex numbers: derivatives by complex step, to machine
 * precision. */
#define SOAI_NUMBER SOAI_COMPLEX
#define SOAI_TABLE soai_kernels_complex
#define SOAI_ISA_NAME "complex"
#include "dynamics/compiled_sweeps.c"
