#!/usr/bin/env bash
# test_ik.sh SOA  soa ik as others call it: poses that `soa compute` gives are found again; messages and exit codes.
set -euo pipefail
soa=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export LC_ALL=C

# Links of a model at random angles: targets, by soa compute; then the answers, then the poses there.
round_trip() { # model lines near link...
    local model=$1 lines=$2 near=$3 nq
    shift 3
    nq=$("$soa" info "$model" --json | sed -n '1s/.*"nq": \([0-9]*\).*/\1/p')
    awk -v n="$lines" -v nq="$nq" -v near="$near" -v work="$work" 'function list(x, n,  i, t) { t = ""; for (i = 0; i < n; ++i) t = t (i ? "," : "") sprintf("%.6f", x[i]); return t }
        BEGIN { srand(3); while (n--) { for (i = 0; i < nq; ++i) { x[i] = rand() - 0.5; y[i] = x[i] + near * (rand() - 0.5) }
            print "{\"q\": [" list(x, nq) "]}" > (work "/goals"); print "[" list(y, nq) "]" > (work "/starts") } }'
    local fn=
    for link in "$@"; do fn=$fn${fn:+,}pose:$link; done
    "$soa" compute "$model" --fn "$fn" --in "$work/goals" >"$work/poses"
    paste -d'|' "$work/starts" "$work/poses" | sed -e 's/^\([^|]*\)|{"pose": \(.*\)}$/{"q": \1, "target": \2}/' >"$work/targets"
    "$soa" ik "$model" --in "$work/targets" >"$work/answers" || { cat "$work/answers"; exit 1; }
    sed 's/, "residual".*/}/' "$work/answers" >"$work/found"
    "$soa" compute "$model" --fn "$fn" --in "$work/found" >"$work/again"
    paste <(tr ',' '\n' <"$work/poses" | grep -o -- '-\{0,1\}[0-9][0-9.e+-]*') <(tr ',' '\n' <"$work/again" | grep -o -- '-\{0,1\}[0-9][0-9.e+-]*') |
        awk -v what="$model $*" -v lines="$lines" '{ d = $1 - $2; if (d < 0) d = -d; if (!(d <= worst)) worst = d; ++n }
            END { printf "%-44s %d targets, %d numbers, worst %.1e\n", what, lines, n, worst; exit !(n >= 12 * lines && worst <= 2e-9) }'
}
"$soa" compute arm7 --fn "pose:$("$soa" info arm7 --links | tail -1)" <<<'{}' >"$work/shape"
grep -q '"p": \[' "$work/shape" && grep -q '"R": \[' "$work/shape" || { echo "the pose of soa compute has another shape:"; cat "$work/shape"; exit 1; }
round_trip arm7 20 0.6 "$("$soa" info arm7 --links | tail -1)"
round_trip puma560 20 0.4 "$("$soa" info puma560 --links | tail -1)"
round_trip chain:20 10 0.5 "$("$soa" info chain:20 --links | tail -1)" "$("$soa" info chain:20 --links | sed -n 12p)"

expect() { # exit code, words of the output, arguments ... (input on standard input)
    local code=0 wanted=$1 words=$2
    shift 2
    "$soa" ik "$@" >"$work/out" 2>&1 || code=$?
    [ "$code" = "$wanted" ] && grep -q -- "$words" "$work/out" || { echo "FAILED soa ik $*: exit $code, not $wanted, or not '$words':"; cat "$work/out"; exit 1; }
}
expect 0 '"converged": true' arm7 <<<'{"target": {"p": [0.4, 0.1, 0.5]}}'
expect 0 '"iterations": 0' arm7 --tolerance 1e9 <<<'{"target": {"p": [0.4, 0.1, 0.5]}}'
expect 0 '"converged": true' arm7 --tip "$("$soa" info arm7 --links | tail -2 | head -1)" <<<'{"target": {"p": [0.4, 0.1, 0.5]}}'
expect 0 '"converged": true' arm7 <<<'{"target": {"R": [1,0,0, 0,1,0, 0,0,1]}}'
expect 1 '"converged": false' arm7 <<<'{"target": {"p": [4, 1, 5]}}'
expect 1 'not reached' arm7 <<<'{"target": {"p": [4, 1, 5]}}'
expect 1 '"iterations": 1, "converged": false' arm7 --steps 1 <<<'{"target": {"p": [0.4, 0.1, 0.5]}}'
expect 1 'R is not a rotation' arm7 <<<'{"target": {"R": [2,0,0, 0,1,0, 0,0,1]}}'
expect 1 'not JSON' arm7 <<<'{"target"'
expect 1 'target is missing' arm7 <<<'{}'
expect 1 "did you mean 'target'" arm7 <<<'{"tagret": {}}'
expect 1 'q has 1 numbers, 7 are wanted' arm7 <<<'{"q": [1], "target": {"p": [0.4, 0.1, 0.5]}}'
expect 1 'p has 1 numbers, 3 are wanted' arm7 <<<'{"target": {"p": [0.4]}}'
expect 1 'not a finite number' arm7 <<<'{"target": {"p": [0.4, "x", 1]}}'
expect 1 'neither p nor R' arm7 <<<"{\"target\": {\"$("$soa" info arm7 --links | tail -1)\": {}}}"
expect 1 "no link 'nowhere'" arm7 <<<'{"target": {"nowhere": {"p": [0, 0, 0]}}}'
expect 1 'none may be negative' arm7 <<<'{"target": {"p": [0, 0, 0], "weights": [1, -1]}}'
expect 1 'quaternion' satellite <<<"{\"q\": [$(printf '0,%.0s' {1..20})0], \"target\": {\"p\": [0, 0, 0]}}"
expect 2 "no link 'nowhere'" arm7 --tip nowhere <<<'{}'
expect 2 'a positive number' arm7 --tolerance -1 <<<'{}'
expect 2 'from 1 to' arm7 --steps x <<<'{}'
expect 2 'No such file' arm7 --in "$work/none"
expect 2 'no-such-model' no-such-model <<<'{}'
echo "messages and exit codes as promised"
