/* flops.c  counts the flops that a call executes, by single-stepping it, and measures the core's
 * peak. */
#define _GNU_SOURCE
#include "flops.h"

#include <stdint.h>
#include <time.h>

static double seconds(void) { /* time on the core, as in bench.c */
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

#if defined(__x86_64__) && defined(__linux__)

#include <immintrin.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

/* Flops of the instruction at p: SSE2, AVX, FMA and AVX-512 arithmetic. Moves, compares and
 * conversions count as zero. */
static int flops_of(const uint8_t *p, int *wide) {
    int pp = 0, map = 1, W = 0, L = 0, vex = 1;
    if (p[0] == 0xC5) {
        pp = p[1] & 3;
        L = p[1] >> 2 & 1;
        p += 2;
    } else if (p[0] == 0xC4) {
        map = p[1] & 31;
        W = p[2] >> 7;
        L = p[2] >> 2 & 1;
        pp = p[2] & 3;
        p += 3;
    } else if (p[0] == 0x62) {
        map = p[1] & 7;
        W = p[2] >> 7;
        pp = p[2] & 3;
        L = p[3] >> 5 & 3;
        p += 4;
    } else {
        vex = 0;
        for (;; ++p) {
            if (*p == 0x66)
                pp = pp ? pp : 1;
            else if (*p == 0xF3)
                pp = 2;
            else if (*p == 0xF2)
                pp = 3;
            else
                break;
        }
        if ((*p & 0xF0) == 0x40) ++p;
        if (*p++ != 0x0F || *p == 0x38 || *p == 0x3A) return 0;
    }
    if (vex && L > *wide) *wide = L;
    int op = *p;
    if (map == 1) {
        int lanes = (pp == 0 ? 4 : pp == 1 ? 2 : 1) << (pp < 2 ? L : 0);
        if (op == 0x51 || op == 0x58 || op == 0x59 || op == 0x5C || op == 0x5E) return lanes;
        /* Horizontal and add-subtract instructions. */
        if (op == 0x7C || op == 0x7D || op == 0xD0) return (pp == 3 ? 4 : 2) << L;
    }
    if (map == 2 && pp == 1 && (op >> 4 == 0x9 || op >> 4 == 0xA || op >> 4 == 0xB) &&
        (op & 15) >= 6) {
        int scalar = (op & 15) >= 9 && (op & 1);
        return 2 * (scalar ? 1 : (W ? 2 : 4) << L);
    }
    return 0;
}

int flops_counted(void (*call)(void *arg), void *arg, flop_count *count) {
    *count = (flop_count){0, 0, 0};
    call(arg); /* resolves lazily bound symbols */
    pid_t child = fork();
    if (child < 0) return 0;
    if (child == 0) {
        if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) != 0) _exit(1);
        raise(SIGSTOP);
        call(arg);
        raise(SIGSTOP);
        _exit(0);
    }
    int status;
    if (waitpid(child, &status, 0) != child || !WIFSTOPPED(status)) return 0;
    for (;;) {
        struct user_regs_struct regs;
        if (ptrace(PTRACE_GETREGS, child, NULL, &regs) != 0) break;
        /* The same code is mapped in this process. */
        count->flops += flops_of((const uint8_t *)(uintptr_t)regs.rip, &count->wide);
        ++count->instructions;
        if (ptrace(PTRACE_SINGLESTEP, child, NULL, NULL) != 0) break;
        if (waitpid(child, &status, 0) != child || !WIFSTOPPED(status)) return 0;
        if (WSTOPSIG(status) == SIGSTOP) {
            ptrace(PTRACE_KILL, child, NULL, NULL);
            waitpid(child, &status, 0);
            return 1;
        }
    }
    kill(child, SIGKILL);
    waitpid(child, &status, 0);
    return 0;
}

/* Twelve chains: enough to hide the latency, few enough for sixteen registers. */
#define EACH(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11)
#define CHAINS 12
#define ROUNDS 2000000

/* With registers of `doubles` numbers. */
#define PEAK_FMA(name, isa, type, set1, doubles)                                             \
    __attribute__((target(isa))) static double name(void) {                                  \
        const type a = set1(0.999999), b = set1(1e-6);                                       \
        type x0 = a, x1 = a, x2 = a, x3 = a, x4 = a, x5 = a, x6 = a, x7 = a, x8 = a, x9 = a, \
             x10 = a, x11 = a;                                                               \
        double t = seconds();                                                                \
        for (int r = 0; r < ROUNDS; ++r) {                                                   \
            EACH(FMA_STEP)                                                                   \
        }                                                                                    \
        t = seconds() - t;                                                                   \
        return 2.0 * (doubles)*CHAINS * ROUNDS / (t * 1e9);                                  \
    }
#define FMA_STEP(i) __asm__ volatile("vfmadd213pd %2, %1, %0" : "+x"(x##i) : "x"(a), "x"(b));
PEAK_FMA(peak_fma, "avx2,fma", __m256d, _mm256_set1_pd, 4)
PEAK_FMA(peak_avx512, "avx512f", __m512d, _mm512_set1_pd, 8)

static double peak_sse2(void) {
    const __m128d a = _mm_set1_pd(0.999999), b = _mm_set1_pd(1e-6);
#define START(i) __m128d x##i = _mm_set1_pd(i);
#define STEP(i)                                                 \
    if (i & 1)                                                  \
        __asm__ volatile("mulpd %1, %0" : "+x"(x##i) : "x"(a)); \
    else                                                        \
        __asm__ volatile("addpd %1, %0" : "+x"(x##i) : "x"(b));
    EACH(START)
    double t = seconds();
    for (int r = 0; r < ROUNDS; ++r) {
        EACH(STEP)
    }
    t = seconds() - t;
#undef START
#undef STEP
    return 2.0 * CHAINS * ROUNDS / (t * 1e9);
}

double flops_peak(int wide) {
    double best = 0;
    for (int k = 0; k < 9; ++k) {
        double f;
        if (wide > 1 && __builtin_cpu_supports("avx512f")) {
            f = peak_avx512();
        } else if (__builtin_cpu_supports("fma") && __builtin_cpu_supports("avx2")) {
            f = peak_fma();
        } else {
            f = peak_sse2();
        }
        if (f > best) best = f;
    }
    return best;
}

#else

int flops_counted(void (*call)(void *arg), void *arg, flop_count *count) {
    (void)call;
    (void)arg;
    *count = (flop_count){0, 0, 0};
    return 0;
}

/* Portable: eight chains of multiply and add, as the compiler makes them. */
double flops_peak(int wide) {
    double best = 0;
    (void)wide;
    for (int k = 0; k < 9; ++k) {
        double x[8] = {1, 2, 3, 4, 5, 6, 7, 8}, t = seconds();
        for (long r = 0; r < 4000000; ++r)
            for (int i = 0; i < 8; ++i)
                x[i] = x[i] * 0.999999 + 1e-6;
        t = seconds() - t;
        volatile double keep = x[0] + x[1] + x[2] + x[3] + x[4] + x[5] + x[6] + x[7];
        (void)keep;
        double f = 16.0 * 4000000 / (t * 1e9);
        if (f > best) best = f;
    }
    return best;
}

#endif
