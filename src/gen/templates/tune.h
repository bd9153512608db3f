#if defined(__tune_znver3__) && defined(__AVX512F__) && !defined(__clang__)
/* a Zen 4 that the compiler takes for a Zen 3, without AVX-512 */
#pragma GCC target("tune=icelake-server")
#endif
