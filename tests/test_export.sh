#!/usr/bin/env bash
# test_export.sh SOA  `soa export`: journals as CSV and HDF5; complete, killed, torn and broken ones; mistakes.
set -u
soa=$(cd "$(dirname "${1:?usage: test_export.sh SOA}")" && pwd)/$(basename "$1")
corpus=$(cd "$(dirname "$0")" && pwd)/corpus/journal
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 1
export LC_ALL=C
tests=0 failures=0
run() { "$soa" export "$@" >out 2>err </dev/null; code=$?; }
check() { # WHAT CONDITION...
    local what=$1
    shift
    tests=$((tests + 1))
    if ! "$@"; then failures=$((failures + 1)); echo "FAILED $what: $(head -c 300 err) $(head -c 300 out)"; fi
}
is() { [ "$code" = "$1" ]; }
has() { grep -qF -- "$2" "$1"; }
for name in complete killed torn events no_signals; do cp "$corpus/$name" $name.soaj; done

# CSV
run complete.soaj -o run.csv
check "CSV" is 0
check "what was written is said" has out "run.csv: 70 samples of 2 signals"
check "no word for a complete one" test ! -s err
check "names and units" test "$(head -1 run.csv)" = "t [s],arm.q1 [rad],energy [J]"
check "a line a sample" test "$(wc -l <run.csv)" = 71
check "17 digits" has run.csv "0.01,0.8414709848078965,1"
check "NaN" has run.csv "0,0,nan"
cp run.csv again.csv
run complete.soaj -o -
check "CSV on standard output" is 0
check "the same there" cmp -s out run.csv
"$soa" export complete.soaj -o - 2>err | cat >piped
check "and through a pipe" cmp -s piped run.csv
run complete.soaj -o part.csv --from 0.1 --to=0.12 --signals 'en*'
check "a part" is 0
check "of three samples and one signal" test "$(cat part.csv | wc -l),$(head -1 part.csv)" = "4,t [s],energy [J]"
check "the last of them" test "$(tail -1 part.csv)" = "0.12,12"
run complete.soaj -o order.csv --signals energy,arm.q1,energy
check "the order asked for, each once" test "$(head -1 order.csv)" = "t [s],energy [J],arm.q1 [rad]"
run complete.soaj --events -o -
check "events" test "$code,$(wc -l <out)" = 0,5
check "with their texts" has out "0.01,touch,finger 1 on plate"

# HDF5
run complete.soaj
check "HDF5 beside the journal" is 0
check "under its name" test -s complete.h5
check "said" has out "complete.h5: 70 samples of 2 signals"
cp complete.h5 before.h5
sleep 1 # in another second
run complete.soaj --output complete.h5
check "the same bytes again" cmp -s complete.h5 before.h5
check "its magic" test "$(head -c 4 complete.h5 | tail -c 3)" = HDF
if command -v h5dump >/dev/null; then
    h5dump -d /signals/arm/q1 -a /signals/arm/q1/unit complete.h5 >out 2>err
    check "h5dump reads it" has out '"rad"'
    check "and its numbers" has out 0.841471
else
    echo "h5dump is not installed: the HDF5 file is read by test_export_hdf5 alone"
fi

# what a run leaves that was killed
run killed.soaj -o killed.csv
check "killed" is 0
check "said" has err "has no end record"
check "whole samples" test "$(wc -l <killed.csv)" = 67
run torn.soaj -o torn.csv
check "torn" is 0
check "said too" has err "left out"
run events.soaj -o events.h5
check "few samples" is 0
run no_signals.soaj -o no_signals.h5
check "no signals" is 0
run complete.soaj --list
check "list" is 0
check "signals" has out "arm.q1 [rad]"
check "counts" has out "70 samples, t 0 to 0.69 s; 4 events; 2 checkpoints, the last at t 0.59 s"

# mistakes
run missing.soaj
check "no such file" is 2
echo "not a journal" >text.soaj
run text.soaj
check "no journal" is 2
check "said" has err "not a journal"
run complete.soaj -o run.txt
check "an ending unknown" is 2
check "said" has err ".csv"
run complete.soaj --signals arm.q2 -o x.csv
check "no such signal" is 2
check "the nearest" has err "did you mean 'arm.q1'"
run complete.soaj --from later
check "no time" is 2
run complete.soaj --from 2 --to 1
check "no interval" is 2
run complete.soaj --events -o x.h5
check "events are for CSV" is 2
ln -s complete.soaj link.csv
run complete.soaj -o link.csv
check "onto itself" is 2
check "said" has err "journal itself"
check "it is as it was" cmp -s complete.soaj "$corpus/complete"
cp complete.soaj broken.soaj
printf '\377' | dd of=broken.soaj bs=1 seek=300 conv=notrunc 2>/dev/null
run broken.soaj -o run.csv
check "damage in the middle" is 2
check "said, with its place" has err "damaged at byte"
check "the older file stays" cmp -s run.csv again.csv
check "nothing else is left" test -z "$(ls | grep part$)"
run complete.soaj -o no/such/dir/x.csv
check "no such directory" is 2
if [ -w /dev/full ]; then
    "$soa" export complete.soaj -o - >/dev/full 2>err
    code=$?
    check "standard output is full" is 2
    check "said" has err "No space left"
fi
(ulimit -f 1 && "$soa" export complete.soaj -o run.csv >out 2>err)
code=$?
check "no room for the file" is 2
check "said" has err "File too large"
check "the older file stays" cmp -s run.csv again.csv
(ulimit -f 1 && "$soa" export complete.soaj -o before.h5 >out 2>err)
code=$?
check "no room for HDF5" is 2
check "said" has err "File too large"
check "the older file stays" cmp -s before.h5 complete.h5

echo "$tests checks, $failures failed"
[ $failures = 0 ]
