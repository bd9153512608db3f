#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("O3", "no-signed-zeros", "finite-math-only", "no-math-errno", \
                     "no-trapping-math", "no-tree-slp-vectorize", "no-tree-pre",   \
                     "no-code-hoisting", "fp-contract=fast")
#pragma GCC diagnostic ignored "-Wpsabi"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized" /* it cannot count the joints' parts */
#pragma GCC diagnostic ignored "-Warray-bounds"        /* nor the columns of a matrix */
#elif defined(__clang__)                               /* loops of unknown length stay loops */
#pragma clang diagnostic ignored "-Wpass-failed"
#pragma clang diagnostic ignored "-Wpsabi"
#endif
#include <stddef.h>
#ifdef __AVX512F__
#include <immintrin.h>
#endif
