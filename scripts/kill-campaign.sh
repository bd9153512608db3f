#!/usr/bin/env bash
# kill-campaign.sh PROGRAM [KILLS [SCENARIO...]]  runs scenarios, kills them with SIGKILL at random
# times, resumes them with `soa sim --resume`, kills them again, and compares journal and summary
# with those of an uninterrupted run: the journal byte by byte, the summary in every figure except
# wall time. SEED in the environment repeats the times of a campaign (as far as a clock can). Ends
# with 0 if all were the same.
set -u
soa=$(cd "$(dirname "${1:?usage: kill-campaign.sh PROGRAM [KILLS [SCENARIO...]]}")" && pwd)/$(basename "$1")
kills=${2:-1000}
shift; [ $# -gt 0 ] && shift
here=$(cd "$(dirname "$0")/.." && pwd)
if [ $# -eq 0 ]; then
    set -- "$here"/tests/scenarios/kill-*.yaml "$here/scenarios/grapple.yaml"
fi
seed=${SEED:-$(($(date +%s) % 32768))}
RANDOM=$seed
dir=$(mktemp -d) || exit 1
pid=
trap '[ -n "$pid" ] && kill -9 "$pid" 2>/dev/null; rm -rf "$dir"' EXIT
figures() { grep -v -e '"wall_s"' -e '"real_time_factor"' "$1"; }
now() { date +%s%N; }
until_of() { case $1 in *grapple*) echo "--until 1" ;; esac; } # the whole scenario takes long

total=0 runs=0 bad=0 empty=0
each=$(((kills + $# - 1) / $#))
for scenario in "$@"; do
    name=$(basename "$scenario" .yaml)
    more=$(until_of "$name")
    start=$(now)
    "$soa" sim "$scenario" $more -q -o "$dir/whole.soalog" --summary "$dir/whole.json"
    code=$?
    wall=$(($(now) - start)) # ns
    [ "$code" -le 1 ] || { echo "$name: the run itself failed ($code)"; bad=$((bad + 1)); continue; }
    done_here=0
    while [ "$done_here" -lt "$each" ]; do
        rm -f "$dir/cut.soalog" "$dir/cut.json"
        for attempt in 1 2 3 4 5 6; do
            if [ -e "$dir/cut.soalog" ]; then
                "$soa" sim --resume "$dir/cut.soalog" $more -q --summary "$dir/cut.json" 2>"$dir/err" &
            else # killed before there was a journal: start again
                "$soa" sim "$scenario" $more -q -o "$dir/cut.soalog" --summary "$dir/cut.json" 2>"$dir/err" &
            fi
            pid=$!
            if [ "$attempt" -lt 6 ]; then
                sleep "$(awk -v w="$wall" -v r="$RANDOM" 'BEGIN { printf "%.4f", w * 1e-9 * r / 32768 }')"
                kill -9 "$pid" 2>/dev/null
            fi
            wait "$pid" 2>/dev/null
            last=$?
            pid=
            if [ "$last" -eq 137 ]; then
                total=$((total + 1)) done_here=$((done_here + 1))
                [ -e "$dir/cut.soalog" ] || empty=$((empty + 1))
            else
                break
            fi
        done
        runs=$((runs + 1))
        if [ "$last" -ne "$code" ]; then
            bad=$((bad + 1))
            echo "$name: exit $last instead of $code: $(head -c 300 "$dir/err")"
        elif ! cmp "$dir/whole.soalog" "$dir/cut.soalog"; then
            bad=$((bad + 1))
            echo "$name: the journals differ"
        elif ! diff <(figures "$dir/whole.json") <(figures "$dir/cut.json") >"$dir/diff"; then
            bad=$((bad + 1))
            echo "$name: the summaries differ: $(head -c 300 "$dir/diff")"
        fi
    done
done
echo "seed $seed: $total kills ($empty of them before there was a journal) in $runs runs of $# scenarios; $bad runs were not the same to the byte"
[ "$bad" -eq 0 ] && [ "$total" -ge "$kills" ]
