#!/usr/bin/env bash
# io-fault-campaign.sh SOA [EVERY]  lets each call by which soa opens, writes, synchronises, renames
# or closes a file fail once, in every command that writes files. EVERY > 1 tries only every
# EVERY-th call.
#
# A fault may make the command fail, but not crash. Afterwards an older file of that name is
# unchanged or the new one is complete (a record of soa sim can be resumed to the same bytes). The
# exit status is 0 only with the complete output. No temporary file is left, no other file is
# changed. Modes: tests/fault/io_fault.c.
set -u
soa=$(cd "$(dirname "${1:?usage: $(basename "$0") SOA [EVERY]}")" && pwd)/$(basename "$1")
every=${2:-1}
here=$(cd "$(dirname "$0")/.." && pwd)
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
${CC:-cc} -O1 -shared -fPIC -o "$dir/io_fault.so" "$here/tests/fault/io_fault.c" -ldl || exit 1
export LC_ALL=C OMP_NUM_THREADS=1
mkdir "$dir/in" "$dir/ref" "$dir/work"
cd "$dir/in" || exit 1

cat >x.yaml <<END
name: x
duration: 0.3
recording: {rate: 100, checkpoint: 0.1}
parts: [{name: a, model: arm7}]
END
cat >vary.yaml <<END
name: vary
duration: 0.02
parts: [{name: a, model: arm7}]
sweep: {a.mass_scale: [0.9, 1.1]}
END
printf '{}\n{"q": [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7]}\n' >states
"$soa" sim x.yaml -q -o log.soalog || exit 1
in=$dir/in

# NAME | OUTPUTS | how the result is judged (file, record, table) | COMMAND
commands=(
    "save|f.soam|file|save arm7 -o f.soam"
    "gen|f.c f.h|file|gen arm7 -o f.c --header f.h"
    "compute|f.json|file|compute arm7 --fn aba --in $in/states --out f.json"
    "op --html|f.html|file|op arm7 FD3 --explain --html f.html"
    "sim|f.soalog|record|sim $in/x.yaml -o f.soalog"
    "sim --summary|f.json|file|sim $in/x.yaml --summary f.json"
    "sim --diagram|f.dot|file|sim grapple --diagram f.dot"
    "export csv|f.csv|file|export $in/log.soalog -o f.csv"
    "export events|f.csv|file|export $in/log.soalog --events -o f.csv"
    "export hdf5|f.h5|file|export $in/log.soalog -o f.h5"
    "plot|f.svg|file|plot $in/log.soalog q.* -o f.svg"
    "report|f.html|file|report $in/log.soalog -o f.html"
    "sweep|f.csv|table|sweep $in/vary.yaml --cases 3 --jobs 1 -o f.csv"
    "drop|drop.csv drop.svg|file|drop --model arm7 --seconds 0.2 --out ."
)
# removes what differs from run to run
steady() { sed -e '/"wall_s"/d' -e '/"real_time_factor"/d' "$1"; }
equal() { if [[ $1 == *.json ]]; then cmp -s <(steady "$1") <(steady "$2"); else cmp -s "$1" "$2"; fi; }
problems=0
problem() {
    problems=$((problems + 1))
    echo "PROBLEM $name, $old, call $k ($call) $mode, exit $code: $*: $(head -c 300 said)"
}
# one fault: sets code, judges the files
try() {
    local f
    cd "$dir" && rm -rf work && mkdir work && cd work || exit 1
    for f in $outputs; do
        [ "$old" = old ] && echo "an older $f" >"$f"
        echo mine >"$f.new"
        echo mine >"$f.part"
    done
    SOA_IO_FAULT=$k:$mode LD_PRELOAD=$dir/io_fault.so timeout 60 "$soa" $words >stdout 2>said </dev/null
    code=$?
    tried=$((tried + 1))
    [ $code -ge 124 ] && problem "crashed or hung"
    [ $mode = SHORT ] && [ $code != 0 ] && problem "a short write is no failure"
    [ $code = 0 ] || failed=$((failed + 1))
    [ $code != 0 ] && ! [ -s said ] && [ "$call" != write ] && problem "says nothing"
    for f in $outputs; do
        if [ -e "$f" ] && equal "$f" "$dir/ref/$f"; then
            :
        elif [ $code = 0 ]; then
            problem "success without a complete $f"
        elif [ "$old" = old ] && echo "an older $f" | cmp -s - "$f"; then
            :
        elif [ "$old" = none ] && ! [ -e "$f" ]; then
            :
        elif [ $judge = record ] && "$soa" sim --resume "$f" -q >/dev/null 2>&1 && equal "$f" "$dir/ref/$f"; then
            resumed=$((resumed + 1))
        else
            problem "$f is neither the older file nor complete"
        fi
        [ "$(cat "$f.new" "$f.part")" = "mine
mine" ] || problem "$f.new or $f.part was touched"
    done
    if [ $judge = table ] && [ $code != 0 ] && [ -e f.csv.cases ]; then # finished cases are kept
        "$soa" $words --resume >/dev/null 2>&1 && equal f.csv "$dir/ref/f.csv" || problem "cannot be resumed"
        resumed=$((resumed + 1))
    fi
    local left
    left=$(ls | grep -vxE 'stdout|said|(.*\.(new|part))')
    for f in $outputs; do left=$(grep -vxF "$f" <<<"$left"); done
    [ -z "$left" ] || [ $judge = table ] || problem "left behind: $left"
}

printf '%-16s %6s %6s %6s %6s\n' command calls faults failed resumed
all=0 all_failed=0 turn=0
for row in "${commands[@]}"; do
    IFS='|' read -r name outputs judge words <<<"$row"
    tried=0 failed=0 resumed=0 most=0
    for old in none old; do
        cd "$dir" && rm -rf work && mkdir work && cd work || exit 1
        for f in $outputs; do [ $old = old ] && echo "an older $f" >"$f"; done
        SOA_IO_FAULT=0:EIO SOA_IO_COUNT=$dir/calls LD_PRELOAD=$dir/io_fault.so "$soa" $words >stdout 2>said </dev/null
        code=$?
        if [ $code != 0 ]; then
            echo "PROBLEM $name fails without a fault (exit $code): $(head -c 300 said)"
            problems=$((problems + 1))
            continue
        fi
        for f in $outputs; do cp "$f" "$dir/ref/$f"; done
        mapfile -t list <"$dir/calls"
        [ ${#list[@]} -gt $most ] && most=${#list[@]}
        for ((k = 1; k <= ${#list[@]}; ++k)); do
            call=${list[k - 1]}
            modes="EIO ENOSPC"
            [[ $call == *write* ]] && modes="EIO ENOSPC SHORT FULL"
            for mode in $modes; do
                turn=$((turn + 1))
                [ $((turn % every)) = 0 ] && try
            done
        done
    done
    printf '%-16s %6d %6d %6d %6d\n' "$name" "$most" "$tried" "$failed" "$resumed"
    all=$((all + tried)) all_failed=$((all_failed + failed))
done
echo "$all faults, $all_failed commands failed with a message, $problems problems"
[ $problems = 0 ] && [ $all -gt 0 ]
