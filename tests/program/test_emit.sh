#!/usr/bin/env bash
# test_emit.sh SOA  the C that `soa op --emit-c` prints computes what `soa op` computes, and its counts are those printed.
set -euo pipefail
soa=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cc=${CC:-cc}
cat >"$work/main.c" <<'C'
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
void soa_op(const double *, const double *, const double *, const double *, const double *, double *);
static double *numbers(FILE *f, int n) {
    double *x = calloc((size_t)n + 1, sizeof *x);
    for (int i = 0; i < n; ++i)
        if (fscanf(f, "%lf", x + i) != 1) exit(2);
    return x;
}
int main(int argc, char **argv) { /* nq nv rows < q thd thdd T f0 expected */
    if (argc < 4) return 2;
    const int nq = atoi(argv[1]), nv = atoi(argv[2]), rows = atoi(argv[3]);
    double *q = numbers(stdin, nq), *v = numbers(stdin, nv), *a = numbers(stdin, nv), *t = numbers(stdin, nv), *f = numbers(stdin, 6);
    double *want = numbers(stdin, rows), *got = calloc((size_t)rows + 1, sizeof *got), size = 1e-3, worst = 0;
    soa_op(q, v, a, t, f, got);
    for (int i = 0; i < rows; ++i) {
        if (fabs(want[i]) > size) size = fabs(want[i]);
        if (!(fabs(want[i] - got[i]) <= worst)) worst = fabs(want[i] - got[i]);
    }
    printf("worst %.1e\n", worst / size);
    return worst / size <= 1e-11 ? 0 : 1;
}
C
# A random state as JSON lists, unit quaternions where the joints (`soa info --json` on standard input) have them.
state() { # nq nv
    awk -v nq="$1" -v nv="$2" 'function list(n,  i, t) { t = ""; for (i = 0; i < n; ++i) t = t (i ? "," : "") sprintf("%.6f", 2 * rand() - 1); return t }
        BEGIN { srand(5); n = split(list(nq), x, ",") }
        /"type": "(spherical|free)"/ { at = $0; sub(/.*"q_index": /, "", at); at += ($0 ~ /"free"/ ? 3 : 0); x[at + 1] = 0.8; x[at + 2] = 0; x[at + 3] = -0.6; x[at + 4] = 0 }
        END { q = ""; for (i = 1; i <= nq; ++i) q = q (i > 1 ? "," : "") x[i]
        printf "{\"q\": [%s], \"v\": [%s], \"a\": [%s], \"tau\": [%s], \"f0\": [%s]}\n", q, list(nv), list(nv), list(nv), list(6) }'
}
check() { # model expression, options of --emit-c and --count
    local model=$1 text=$2
    shift 2
    "$soa" info "$model" $ideal --json >"$work/info"
    read -r nq nv < <(sed -n '1s/.*"nq": \([0-9]*\), "nv": \([0-9]*\).*/\1 \2/p' "$work/info")
    state "$nq" "$nv" <"$work/info" >"$work/state"
    "$soa" op "$model" $ideal "$text" --emit-c "$@" >"$work/op.c"
    $cc -std=c11 -O0 "$work/op.c" "$work/main.c" -o "$work/run" -lm
    "$soa" op "$model" $ideal "$text" --in "$work/state" >"$work/result"
    rows=$(tr ',' '\n' <"$work/result" | wc -l)
    grep -ho '\[[^]]*\]' "$work/state" "$work/result" | tr -d '[]' | tr ',' ' ' >"$work/in"
    printf '%-16s %-56s ' "$model" "$text $*"
    "$work/run" "$nq" "$nv" "$rows" <"$work/in"
    added=$(grep -c ' [+-] x' "$work/op.c") counted=$("$soa" op "$model" $ideal "$text" --count "$@" | awk '$1 == "all" { print $2 }')
    [ "$added" = "$counted" ] || { echo "  $added additions in the C, $counted counted"; exit 1; }
}
ideal=--ideal
check arm7 "inv(Mass) (T - H phi (M phi' a + b + B f0))"
check planar-chain:5 "inv(Mass) T"
check satellite "H phi (M phi' (H' thdd + a) + b)"
check quadruped "J inv(Mass) J' f0"
check arm7 "(I + H phi K) D (I + H phi K)' thdd"
forward="inv(Mass) (T - H phi (M phi' a + b + B f0))"
for seed in 1 2 5; do check random-ideal:$seed "$forward"; done
# the same results in other axes, by the mass matrix, with generic constants; links and edges are given in their own axes
for how in "--axes world" "--by-matrix" "--axes world --by-matrix" "--generic"; do
    for model in planar-chain:5 dh-arm:4 satellite random-ideal:7; do check $model "$forward" $how; done
done
ideal= # with reflected rotors
check puma560 "inv(Mass) T"
check puma560 "inv(Mass) T" --by-matrix --axes world
ideal=--ideal
for how in "--axes link" "--axes world"; do
    check random-ideal:2 "alpha" $how
    check random-ideal:11 "Delta_phi (phi Mc V + b + B f0)" $how
    check quadruped "J inv(Mass) J' f0" $how
    check random-ideal:5 "psi (P a + M V)" $how
    check satellite "(I + H phi K) D (I + H phi K)' thdd" $how
    check chain:5 "H (Mc + phit Mc + Mc phit') H' thdd" $how
    check random-ideal:11 "Delta V + Sigma alpha" $how
    check random-ideal:5 "sqrt(D)' (I + H phi K)' thd + inv(sqrt(D)) T - inv(sqrt(D))' H (Pplus V + bc)" $how
    check random-ideal:7 "alphac + ac + 0" $how
    check arm7 "J' inv(J inv(Mass) J') f0" $how
    check arm7 "phi(link3, link6) V + at(link2) a" $how
    check arm7 "E' (M E (g + 2 g) + phi b) - g" $how
done

# What others call: exit codes and messages of soa op and soa identity.
expect() { # exit code, words of the message, command ...
    local code=0 wanted=$1 words=$2
    shift 2
    "$@" >"$work/out" 2>&1 </dev/null || code=$?
    [ "$code" = "$wanted" ] && grep -q -- "$words" "$work/out" || { echo "FAILED $*: exit $code, not $wanted, or not '$words':"; cat "$work/out"; exit 1; }
}
expect 0 "proved by rewriting" "$soa" identity "J inv(Mass) J' = B' psi' H' inv(D) H psi B"
expect 0 '"how": "proved"' "$soa" identity "psi = phi - phi K H psi" --json
expect 1 "false: on" "$soa" identity "phi = psi"
expect 1 '"counter_example"' "$soa" identity "H phi M = H psi M" --json
expect 0 "^true: proved" "$soa" identity "FD1 = FD4"
expect 0 "RK88-I (a.35): H psi = " "$soa" identity a.35
expect 0 '"how": "proved"' "$soa" identity "RK88-II (6.21)" --json
expect 0 "^RJK91 lemma 4, (16) *(I - H psi K) H phi = H psi" "$soa" identity --list
expect 0 "RK88-I (a.13) *phit G = phi K" "$soa" identity --rules
expect 1 "false: on" "$soa" identity "x: joint, A: tip>base; A J x = 2 A J x"
expect 0 "not proved, but tested" "$soa" identity "A: tip>tip, B1: tip>tip; inv(I + A B1) A = A inv(I + B1 A)"
expect 2 "a space is wanted here" "$soa" identity "x: joit; x = x"
expect 2 "LEFT = RIGHT., a name, or --list is missing" "$soa" identity
expect 2 "one of soa identity --list" "$soa" identity nonsense
expect 2 "did you mean 'FD1'" "$soa" identity "FD1 = FD5"
expect 0 "RK88-I (a.50)" "$soa" op arm7 FD1 --derive --to FD4
expect 0 "taken together" "$soa" op arm7 --derive "iOm: tip>tip; inv(Mass) T - inv(Mass) J' iOm J inv(Mass) T" \
    --to "(I - H psi K)' (inv(D) - inv(D) H psi B iOm B' psi' H' inv(D)) (I - H psi K) T"
expect 2 "nor a proof that the two are equal" "$soa" op arm7 --derive "inv(Mass) T" --to "FD1"
expect 2 "no derivation was found, but the two are equal" "$soa" op arm7 --derive "H phi (M FD2 + b + B f0)" --to T
expect 2 "give --derive too" "$soa" op arm7 "inv(Mass) T" --to FD1
expect 2 "ends too early" "$soa" identity "H phi = "
expect 2 "two sides" "$soa" identity "H phi"
expect 2 "takes link, but this one gives joint" "$soa" op arm7 "H phi T"
expect 2 "apply it to a vector" "$soa" op arm7 "H phi" --explain
expect 2 "no link 'nowhere'" "$soa" op arm7 "T" --tip nowhere
expect 2 "it is link or world" "$soa" op arm7 "inv(Mass) T" --count --axes base
expect 2 "must be inv(Mass) times a vector" "$soa" op arm7 "T" --count --by-matrix
expect 2 "no link 'elbow'" "$soa" op arm7 "T" --parts elbow
expect 2 "exact rotor\|mimic" "$soa" op random:4 "T"
expect 0 "taken together" "$soa" op arm7 --derive "inv(Mass) (T - H phi (M phi' a + b + B f0))"
# Gravity is an acceleration of the base: an arm held at rest shows it upward in FD2_tip, in the link's axes, and 0 when it is
# taken off; that is said where it is so, and nowhere else.
q='[0.1, 0.5, 0.3, -1, 0.2, 0.3, 0]'
echo "{\"q\": $q}" >"$work/state"
hold=$("$soa" compute arm7 --ideal --fn gravity --in "$work/state" | sed 's/.*: \(\[.*\]\)}/\1/')
echo "{\"q\": $q, \"tau\": $hold}" >"$work/state"
size() { sed 's/.*\[\(.*\)\].*/\1/' "$1" | awk -F, '{ print sqrt($4 * $4 + $5 * $5 + $6 * $6), sqrt($1 * $1 + $2 * $2 + $3 * $3) }'; }
"$soa" op arm7 --ideal FD2_tip --in "$work/state" >"$work/result" 2>"$work/err"
size "$work/result" | awk '{ if (!($1 > 9.81 - 1e-10 && $1 < 9.81 + 1e-10 && $2 < 1e-10)) { print "FAILED FD2_tip at rest:", $0; exit 1 } }'
grep -q "note: FD2_tip gives accelerations less gravity.*subtract B' phi' E g" "$work/err" || { echo "FAILED: FD2_tip without a word on gravity"; exit 1; }
fd2=$("$soa" op arm7 --ideal FD2 --as-written --explain 2>/dev/null | head -1)
"$soa" op arm7 --ideal "B' ($fd2) - B' phi' E g" --in "$work/state" >"$work/result" 2>"$work/err"
size "$work/result" | awk '{ if (!($1 < 1e-10 && $2 < 1e-10)) { print "FAILED FD2_tip less gravity at rest:", $0; exit 1 } }'
[ ! -s "$work/err" ] || { echo "FAILED: a word too many:"; cat "$work/err"; exit 1; }
"$soa" op arm7 --gravity 0,0,0 FD2 --explain >"$work/result" 2>"$work/err"
[ ! -s "$work/err" ] || { echo "FAILED: there is no gravity to speak of:"; cat "$work/err"; exit 1; }

# Inverses that do not exist: refused by name with their condition; machines without one are skipped, and that is said.
printf '{"f0": [1, 2, 3, 4, 5, 6]}\n' >"$work/state"
for how in "" --as-written; do
    expect 1 "inv(J J') does not exist at this state: the matrix is singular (estimated condition" "$soa" op arm7 $how "inv(J J') f0" --in "$work/state"
    expect 1 "does not exist at this state: the matrix is singular (estimated condition" "$soa" op arm7 $how task_force --in "$work/state"
done
expect 1 "inv(J J') does not exist at this state: the matrix is singular (estimated condition" "$soa" op arm7 --dense "inv(J J')" --in "$work/state"
! grep -q "massless\|result" "$work/out" || { echo "FAILED: a singular J J' is no massless joint and has no result"; exit 1; }
for i in "P inv(P) = I" "inv(P) P = I" "M inv(M) = I" "Mc inv(Mc) = I" "inv(J J') J J' = I" "J J' inv(J J') = I" "inv(J' J) J' J = I" \
    "inv(J inv(Mass) J') J inv(Mass) J' = I" "inv(P M) = inv(M) inv(P)" "inv(inv(J J')) = J J'" "inv(D) D = I"; do
    expect 0 "^true" "$soa" identity "$i"
done
expect 0 "skipped: [0-9]* of 20 machines.*inv(P) does not exist" "$soa" identity "P inv(P) = I"
expect 0 '"skipped": [1-9][0-9]*, .*"why_skipped": "inv(P) does not exist' "$soa" identity "P inv(P) = I" --json
expect 1 "false: on" "$soa" identity "P inv(M) = I"
expect 1 "false: on" "$soa" identity "J' inv(J J') J = I"
expect 2 "not settled.*no machine on which both sides exist" "$soa" identity "inv(M - M) = inv(M - M)"
expect 2 '"true": null, "how": "not settled", "trials": 0, "skipped": 20' "$soa" identity "inv(M - M) = inv(M - M)" --json
printf '{"tau": [1]}\n{}\n' >"$work/state"
expect 1 'a list of 7 numbers' "$soa" op arm7 "T" --in "$work/state"
echo "messages and exit codes as promised"
