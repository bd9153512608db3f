#!/usr/bin/env bash
# Generated code against the library: `soa gen` for several models, compiled and run beside `soa compute`.
# usage: test_generated.sh SOA [CC]; SOA_GEN_MODELS="random:9 random:10@native random-square:8" for every kind of joint (a minute of compiling each).
# A model is compiled for any processor of the family, or with @native for this one: other lanes where it has AVX-512.
set -eu
soa=$1
cc=${2:-${CC:-cc}}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
bad=0
for word in ${SOA_GEN_MODELS:-arm7 random:6 quadruped@native random-square:8@native random-square:23@native}; do
    model=${word%@native}
    target=
    [ "$model" = "$word" ] || target=-march=native
    "$soa" gen "$model" -o "$work/robot.c" --prefix robot >"$work/log"
    nq=$("$soa" info "$model" --json | tr ',{' '\n\n' | sed -n 's/^ *"nq": *\([0-9]*\).*/\1/p' | head -n 1)
    nv=$("$soa" info "$model" --json | tr ',{' '\n\n' | sed -n 's/^ *"nv": *\([0-9]*\).*/\1/p' | head -n 1)
    cat >"$work/main.c" <<MAIN
#include <math.h>
#include <stdio.h>
#include <string.h>
enum { NQ = $nq, NV = $nv, N = 13 }; /* groups of lanes, and a rest */
int robot_fd(const double *, const double *, const double *, double *);
int robot_id(const double *, const double *, const double *, double *);
int robot_mass(const double *, double *);
int robot_fd_batch(long, const double *, const double *, const double *, double *);
int robot_id_batch(long, const double *, const double *, const double *, double *);
int robot_mass_batch(long, const double *, double *);
int robot_jacobian(const double *, int, double *);
int robot_kinematics(const double *, double *, double *);
static int numbers(const char *line, const char *key, int n, double *x) { /* "key": [ ... ] with any nesting */
    const char *at = strstr(line, key);
    for (int i = 0; at && i < n; ++i) {
        int used = 0;
        while (*at && !strchr("-0123456789", *at)) ++at;
        if (sscanf(at, "%lf%n", x + i, &used) != 1) return 0;
        at += used;
    }
    return at != 0;
}
static double worst;
static void compare(const char *what, const double *got, const double *want, int n) {
    double size = 1e-3, d = 0;
    for (int i = 0; i < n; ++i) {
        if (fabs(want[i]) > size) size = fabs(want[i]);
        if (!(fabs(got[i] - want[i]) <= d)) d = fabs(got[i] - want[i]);
    }
    if (!(d / size <= worst)) worst = d / size;
    if (!(d / size <= 1e-9)) printf("%s off by %g\n", what, d / size), worst = INFINITY;
}
static double q[N * NQ], v[N * NV], a[N * NV], qdd[N * NV], tau[N * NV], M[N * NV * NV], out[N * NV * NV];
static void poison(void) { memset(out, 0xff, sizeof out); } /* NaN: what is not written shows */
static char in[1 << 20], line[1 << 20];
int main(int argc, char **argv) {
    FILE *states = fopen(argv[1], "r"), *answers = fopen(argv[2], "r");
    (void)argc;
    for (int s = 0; s < N; ++s) {
        if (!fgets(in, sizeof in, states) || !fgets(line, sizeof line, answers)) return 2;
        if (!numbers(in, "\"q\":", NQ, q + s * NQ) || !numbers(in, "\"v\":", NV, v + s * NV) || !numbers(in, "\"a\":", NV, a + s * NV)) return 3;
        if (!numbers(line, "\"tau\":", NV, tau + s * NV) || !numbers(line, "\"qdd\":", NV, qdd + s * NV) || !numbers(line, "\"mass\":", NV * NV, M + s * NV * NV)) return 4;
        robot_fd(q + s * NQ, v + s * NV, a + s * NV, out), compare("fd", out, qdd + s * NV, NV);
        robot_id(q + s * NQ, v + s * NV, a + s * NV, out), compare("id", out, tau + s * NV, NV);
        poison(), robot_mass(q + s * NQ, out), compare("mass", out, M + s * NV * NV, NV * NV);
    }
    poison(), robot_fd_batch(N, q, v, a, out), compare("fd_batch", out, qdd, N * NV);
    poison(), robot_id_batch(N, q, v, a, out), compare("id_batch", out, tau, N * NV);
    poison(), robot_mass_batch(N, q, out), compare("mass_batch", out, M, N * NV * NV);
    printf("worst %.1e\n", worst);
    return worst <= 1e-9 ? 0 : 1;
}
MAIN
    # random states; quaternions of spherical and free joints are unit ones
    "$soa" info "$model" --json >"$work/info.json"
    awk -v nv="$nv" 'BEGIN { srand(7); for (s = 0; s < 13; ++s) { printf "{\"v\": ["; for (i = 0; i < nv; ++i) printf "%s%.6f", i ? "," : "", 2 * rand() - 1;
        printf "], \"a\": ["; for (i = 0; i < nv; ++i) printf "%s%.6f", i ? "," : "", 2 * rand() - 1; printf "]\n" } }' >"$work/va"
    # joints that move by themselves, in order: the ones with a place in q
    tr '\n' ' ' <"$work/info.json" | grep -o '"type": *"[a-z]*", *"link": *"[^"]*", *"parent": *"[^"]*", *"q_index"' | sed 's/"type": *"\([a-z]*\)".*/\1/' >"$work/types"
    awk -v seed=3 'FNR == NR { type[n++] = $1; next } { srand(seed + FNR); printf "%s, \"q\": [", $0; first = 1
        for (i = 0; i < n; ++i) { k = type[i] == "cylindrical" || type[i] == "universal" ? 2 : type[i] == "planar" ? 3 : 1
            if (type[i] == "spherical") t = "0.6,0,0.8,0"; else if (type[i] == "free") t = "0.1,0.2,0.3,0.8,0.6,0,0"
            else { t = ""; for (j = 0; j < k; ++j) t = t (j ? "," : "") sprintf("%.6f", 2 * rand() - 1) }
            printf "%s%s", first ? "" : ",", t; first = 0 } print "]}" }' "$work/types" "$work/va" >"$work/states"
    sed 's/"a": \(\[[^]]*\]\)/"a": \1, "tau": \1/' "$work/states" >"$work/states2"
    "$soa" compute "$model" --fn rnea,aba,mass --in "$work/states2" --out "$work/answers"
    # shellcheck disable=SC2086
    $cc -std=gnu11 -O1 $target ${SOA_GEN_FLAGS:--Wall -Wextra -Werror -Wno-psabi -Wno-pass-failed} "$work/robot.c" "$work/main.c" -o "$work/run" -lm
    if figure=$("$work/run" "$work/states" "$work/answers"); then echo "$word: generated code equals the library, $figure"; else
        echo "$word: FAILED $figure"; bad=1; fi
done
exit $bad
