/* flops.h  how much arithmetic a call does, and how much the core could do. */
#ifndef SOA_BENCH_FLOPS_H
#define SOA_BENCH_FLOPS_H

typedef struct flop_count {
    long flops; /* additions, multiplications, divisions, square roots; a fused pair counts 2, each lane counts */
    long instructions; /* executed in all */
    int wide;          /* 1: 256-bit registers were used, 2: 512-bit ones */
} flop_count;

/* Runs call(arg) in a child process one instruction at a time and decodes what it executes.  0 if that is not allowed
 * here or the machine is not x86-64. */
int flops_counted(void (*call)(void *arg), void *arg, flop_count *count);

/* Double-precision flops per nanosecond of a loop of independent fused multiply-adds (or of multiply and add where the
 * core has none), best of several tries; wide: in 512-bit registers where there are. */
double flops_peak(int wide);

#endif
