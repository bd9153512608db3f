#!/usr/bin/env bash
# test_counts.sh SOA  operation counts: the numbers of R87's tables, the crossovers, and the page that shows them.
set -euo pipefail
soa=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
source=${SOA_SOURCE_DIR:-$(cd "$(dirname "$0")/../.." && pwd)} build=${SOA_BUILD_DIR:-$(dirname "$soa")}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() {
    echo "FAILED: $*"
    exit 1
}
# additions multiplications divisions of an inner link of the planar chain (every inner link alike)
inner() { # expected, options
    local wanted=$1
    shift
    "$soa" op planar-chain:8 "inv(Mass) T" --count "$@" >"$work/count"
    local got
    got=$(awk '/^link[3-7] / { print $2, $3, $4 }' "$work/count" | sort -u)
    [ "$got" = "$wanted" ] || fail "inner link $*: '$got', not '$wanted'"
    # parts add up to the link
    got=$("$soa" op planar-chain:8 "inv(Mass) T" --parts link4 "$@" |
        awk '$1 == "part" { next } $1 == "link4" { print a - $2, m - $3, d - $4 } { a += $(NF - 3); m += $(NF - 2); d += $(NF - 1) }')
    [ "$got" = "0 0 0" ] || fail "parts of link4 $*: off by $got"
    echo "planar chain, inner link ${*:-as the model is}: $wanted"
}
inner "25 27 1" --generic              # R87: 28 26 3
inner "22 24 1" --generic --axes world
inner "25 22 1"                        # rods of 1 m: products by the length are none
# the mass matrix of n joints is factored with n (n^2 - 1) / 6 sums and as many products more as it has pairs
for n in 2 5 9; do
    got=$("$soa" op dh-arm:$n "inv(Mass) T" --by-matrix --parts all | awk '$1 == "factor" || $1 == "solve" { print $2, $3 }' | tr '\n' ' ')
    wanted="$((n * (n * n - 1) / 6)) $((n * (n * n - 1) / 6 + n * (n - 1) / 2)) $((n * (n - 1))) $((n * n)) "
    [ "$got" = "$wanted" ] || fail "factor and solve of $n: '$got', not '$wanted'"
done
echo "factor and solve: as many as there must be"
# two spellings of one thing cost the same; a joint more costs the same as the one before
all() { "$soa" op "$@" --generic --count | awk '$1 == "all" { print $2 + $3 }'; }
forward="inv(Mass) (T - H phi (M phi' a + b))"
step=$(($(all dh-arm:12 "$forward") - $(all dh-arm:11 "$forward")))
[ $step = $(($(all dh-arm:8 "$forward") - $(all dh-arm:7 "$forward"))) ] || fail "the arm does not grow evenly"
[ "$(all dh-arm:6 "$forward")" = "$(all dh-arm:6 "$forward" --axes link)" ] || fail "--axes link is not the default"

"$build/soa_counts" "$work/picture.svg" >"$work/tables"
grep -q "from N = 4 (R87's formulas), 5 (Table III summed), 6 (and N³/6), \*\*5\*\* (ours, link axes), \*\*5\*\* (ours, world axes)" "$work/tables" ||
    fail "crossover of the planar chain"
grep -q "from N = \*\*7\*\* (general α) and N = \*\*8\*\*" "$work/tables" || fail "crossover of D-H arms"
echo "crossovers: planar chain 5, general arms 7, arms of quarter turns 8"
while IFS= read -r line; do
    grep -qFx -- "$line" "$source/docs/theory/operation-counts.md" || fail "docs/theory/operation-counts.md is old; it lacks: $line"
done <"$work/tables"
cmp "$work/picture.svg" "$source/docs/images/operation-counts.svg" || fail "docs/images/operation-counts.svg is old: make counts"
echo "the page and the picture are those the program makes"
