#!/usr/bin/env bash
# test_export.sh SOA  `soa export`: journals as CSV and HDF5; complete, killed, torn and broken ones; mistakes.
set -u
. "$(dirname "$0")/../support/lib.sh"
corpus=$here/corpus/journal
verb=export
for name in complete killed torn events no_signals; do cp "$corpus/$name" $name.soalog; done

# CSV
run complete.soalog -o run.csv
expect "CSV" 0
has "what was written is said" out "run.csv: 70 samples of 2 signals"
check "no word for a complete one" test ! -s err
check "names and units" test "$(head -1 run.csv)" = "t [s],arm.q1 [rad],energy [J]"
check "a line a sample" test "$(wc -l <run.csv)" = 71
has "17 digits" run.csv "0.01,0.8414709848078965,1"
has "NaN" run.csv "0,0,nan"
cp run.csv again.csv
run complete.soalog -o -
expect "CSV on standard output" 0
check "the same there" cmp -s out run.csv
"$soa" export complete.soalog -o - 2>err | cat >piped
check "and through a pipe" cmp -s piped run.csv
run complete.soalog -o part.csv --from 0.1 --to=0.12 --signals 'en*'
expect "a part" 0
check "of three samples and one signal" test "$(cat part.csv | wc -l),$(head -1 part.csv)" = "4,t [s],energy [J]"
check "the last of them" test "$(tail -1 part.csv)" = "0.12,12"
run complete.soalog -o order.csv --signals energy,arm.q1,energy
check "the order asked for, each once" test "$(head -1 order.csv)" = "t [s],energy [J],arm.q1 [rad]"
run complete.soalog --events -o -
check "events" test "$code,$(wc -l <out)" = 0,5
has "with their texts" out "0.01,touch,finger 1 on plate"

# HDF5
run complete.soalog
expect "HDF5 beside the journal" 0
check "under its name" test -s complete.h5
has "said" out "complete.h5: 70 samples of 2 signals"
cp complete.h5 before.h5
sleep 1 # in another second
run complete.soalog --output complete.h5
check "the same bytes again" cmp -s complete.h5 before.h5
check "its magic" test "$(head -c 4 complete.h5 | tail -c 3)" = HDF
if command -v h5dump >/dev/null; then
    h5dump -d /signals/arm/q1 -a /signals/arm/q1/unit complete.h5 >out 2>err
    has "h5dump reads it" out '"rad"'
    has "and its numbers" out 0.841471
else
    echo "h5dump is not installed: the HDF5 file is read by test_export_hdf5 alone"
fi

# what a run leaves that was killed
run killed.soalog -o killed.csv
expect "killed" 0
has "said" err "has no end record"
check "whole samples" test "$(wc -l <killed.csv)" = 67
run torn.soalog -o torn.csv
expect "torn" 0
has "said too" err "left out"
run events.soalog -o events.h5
expect "few samples" 0
run no_signals.soalog -o no_signals.h5
expect "no signals" 0
run complete.soalog --list
expect "list" 0
has "signals" out "arm.q1 [rad]"
has "counts" out "70 samples, t 0 to 0.69 s; 4 events; 2 checkpoints, the last at t 0.59 s"

# mistakes
run missing.soalog
expect "no such file" 2
echo "not a journal" >text.soalog
run text.soalog
expect "no journal" 2
has "said" err "not a journal"
run complete.soalog -o run.txt
expect "an ending unknown" 2
has "said" err ".csv"
run complete.soalog --signals arm.q2 -o x.csv
expect "no such signal" 2
has "the nearest" err "did you mean 'arm.q1'"
run complete.soalog --from later
expect "no time" 2
run complete.soalog --from 2 --to 1
expect "no interval" 2
run complete.soalog --events -o x.h5
expect "events are for CSV" 2
ln -s complete.soalog link.csv
run complete.soalog -o link.csv
expect "onto itself" 2
has "said" err "would overwrite what is read"
check "it is as it was" cmp -s complete.soalog "$corpus/complete"
cp complete.soalog broken.soalog
printf '\377' | dd of=broken.soalog bs=1 seek=300 conv=notrunc 2>/dev/null
run broken.soalog -o run.csv
expect "damage in the middle" 2
has "said, with its place" err "damaged at byte"
check "the older file stays" cmp -s run.csv again.csv
check "nothing else is left" test -z "$(ls | grep part$)"
run complete.soalog -o no/such/dir/x.csv
expect "no such directory" 2
if [ -w /dev/full ]; then
    "$soa" export complete.soalog -o - >/dev/full 2>err
    code=$?
    expect "standard output is full" 2
    has "said" err "No space left"
fi
(ulimit -f 1 && "$soa" export complete.soalog -o run.csv >out 2>err)
code=$?
expect "no room for the file" 2
has "said" err "File too large"
check "the older file stays" cmp -s run.csv again.csv
(ulimit -f 1 && "$soa" export complete.soalog -o before.h5 >out 2>err)
code=$?
expect "no room for HDF5" 2
has "said" err "File too large"
check "the older file stays" cmp -s before.h5 complete.h5

# Units of joints that both slide and turn.
cat >planar.urdf <<'URDF'
<robot name="r"><link name="base"/><link name="a"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="j" type="planar"><parent link="base"/><child link="a"/><axis xyz="0 0 1"/></joint></robot>
URDF
printf 'name: planar\nduration: 0.02\nparts: [{name: a, model: planar.urdf}]\n' >planar.yaml
"$soa" sim planar.yaml -q -o planar.soalog && "$soa" export planar.soalog -o planar.csv >out
has "a planar joint slides in metres" planar.csv "q.a.j.0 [m],q.a.j.1 [m],q.a.j.2 [rad],v.a.j.0 [m/s],v.a.j.1 [m/s],v.a.j.2 [rad/s]"

finish
