#!/usr/bin/env bash
# fuzz.sh [SECONDS]  runs every fuzzer of tests/fuzz for its share of the time, starting from its
# corpus.
#
# New inputs are stored in build-fuzz/corpus/NAME, inputs that fail in build-fuzz/found; the corpus
# of the repository is only read. To keep useful inputs:
#   build-fuzz/fuzz_NAME -merge=1 tests/corpus/NAME build-fuzz/corpus/NAME
set -euo pipefail
cd "$(dirname "$0")/.."
total=${1:-60}
jobs=${SOA_JOBS:-$(nproc)}
case $total in '' | *[!0-9]*) echo "fuzz.sh: SECONDS is a whole number, not '$total'" >&2; exit 2 ;; esac

mkdir -p build-fuzz/found
if ! { cmake --preset fuzz && cmake --build --preset fuzz -j "$jobs"; } >build-fuzz/build.log 2>&1; then
    tail -n 40 build-fuzz/build.log
    exit 1
fi
names=()
for source in tests/fuzz/fuzz_*.c; do
    name=$(basename "$source" .c)
    names+=("${name#fuzz_}")
done
share=$(((total + ${#names[@]} - 1) / ${#names[@]}))
echo "${#names[@]} fuzzers, $share s each: ${names[*]}"

failed=0 all=0
for name in "${names[@]}"; do
    seeds=tests/corpus/$name new=build-fuzz/corpus/$name log=build-fuzz/fuzz_$name.log
    mkdir -p "$new" "$seeds"
    options=(-max_total_time="$share" -timeout=20 -rss_limit_mb=4096 -print_final_stats=1 -verbosity=1
             -artifact_prefix="build-fuzz/found/$name-")
    [ ! -e "tests/fuzz/$name.dict" ] || options+=(-dict="tests/fuzz/$name.dict")
    before=$(find "$new" -type f | wc -l)
    code=0
    "build-fuzz/fuzz_$name" "${options[@]}" "$new" "$seeds" >"$log" 2>&1 || code=$?
    execs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
    edges=$(sed -n 's/.* cov: \([0-9]*\) .*/\1/p' "$log" | tail -n 1)
    all=$((all + ${execs:-0}))
    printf '%-12s %10s execs  %6s edges  %4d new inputs  %s\n' "$name" "${execs:-?}" "${edges:-?}" \
        $(($(find "$new" -type f | wc -l) - before)) "$([ $code = 0 ] && echo "nothing found" || echo "FAILED (exit $code)")"
    if [ $code != 0 ]; then
        failed=$((failed + 1))
        grep -E 'ERROR|runtime error|SUMMARY|^ *#[0-9]|Test unit written|fuzz_' "$log" | head -n 30 | sed 's/^/    /'
        echo "    (all of it: $log)"
    fi
done
echo "$all execs in $((share * ${#names[@]})) s, $failed of ${#names[@]} fuzzers failed"
[ $failed = 0 ]
