/* oracle_quad.c  the sweeps over __float128: the oracle of everything in double. */
#define SOAI_NUMBER SOAI_QUAD
#define SOAI_TABLE soai_kernels_quad
#define SOAI_ISA_NAME "quad"
#include "dynamics/compiled_sweeps.c"
