/* flops.h  counts the arithmetic of a call, and measures how much the core could do. */
#ifndef SOA_BENCH_FLOPS_H
#define SOA_BENCH_FLOPS_H

typedef struct flop_count {
    /* Additions, multiplications, divisions, square roots; a fused pair counts 2, each lane
     * counts. */
    long flops;
    long instructions; /* number of instructions executed */
    int wide;          /* 1: 256-bit registers were used, 2: 512-bit ones */
} flop_count;

/* Runs call(arg) in a child process one instruction at a time and decodes them. Returns 0 if that
 * is not allowed here or the machine is not x86-64. */
int flops_counted(void (*call)(void *arg), void *arg, flop_count *count);

/* Double-precision flops per nanosecond of a loop of independent fused multiply-adds (of multiply
 * and add if the core has none), best of several tries. wide: with 512-bit registers if there are
 * any. */
double flops_peak(int wide);

#endif
