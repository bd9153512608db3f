#!/usr/bin/env bash
# test_resume.sh PROGRAM  runs killed with SIGKILL or stopped with SIGINT and taken up again give the same bytes; --seed, --case and
# models named by relative paths are known again; what cannot go on is refused and left as it is.
# scripts/kill-campaign.sh is the same at length (make kill-campaign).
set -u
. "$(dirname "$0")/../support/lib.sh"
figures() { grep -v -e '"wall_s"' -e '"real_time_factor"' "$1"; }
same_figures() { if diff <(figures "$2") <(figures "$3"); then ok; else bad "$1: figures of $2 and $3 differ"; fi; }

# --- kill -9 -------------------------------------------------------------------------------------------------------
if "$here/../scripts/kill-campaign.sh" "$soa" "${SOA_KILLS:-8}" "$here"/scenarios/kill-*.yaml >campaign 2>&1; then ok; else bad "kills: $(cat campaign)"; fi
cat campaign

# --- two plain runs, one that shows its progress ---------------------------------------------------------------------
arm=$here/scenarios/kill-arm.yaml
run sim "$arm" -o whole.soalog --summary whole.json -q
expect "whole" 0
run sim "$arm" -o again.soalog --summary again.json
expect "again" 0
same "two runs" whole.soalog again.soalog
same_figures "two runs" whole.json again.json

# --- stopped at a time, then to the end: one more checkpoint, the same samples, events and figures ------------------------
run sim "$arm" -o part.soalog --until 0.25 -q
run sim --resume part.soalog --summary part.json -q
expect "to the end" 0
same_figures "--until, then the rest" whole.json part.json
for log in whole part; do
    "$soa" export $log.soalog -o $log.csv && "$soa" export $log.soalog --events -o $log.events.csv
done
same "samples" whole.csv part.csv
same "events" whole.events.csv part.events.csv
# a finished journal taken up again says the same once more
cp whole.soalog finished.soalog
run sim --resume finished.soalog --summary finished.json -q
expect "finished" 0
same "finished" whole.soalog finished.soalog
same_figures "finished" whole.json finished.json

# --- Ctrl-C -----------------------------------------------------------------------------------------------------------
sed 's/^duration: .*/duration: 4000/' "$arm" >long.yaml
"$soa" sim long.yaml -o stopped.soalog --summary stopped.json >out 2>err &
pid=$!
for _ in $(seq 600); do [ -s stopped.soalog ] && break; sleep 0.05; done
sleep 0.3
kill -INT $pid
wait $pid
code=$?
expect "Ctrl-C" 1
has "Ctrl-C" out "stopped by a signal at t = "
has "Ctrl-C" out "soa sim --resume stopped.soalog"
has "Ctrl-C" stopped.json '"fault": "stopped by a signal"'
stopped=$(sed -n 's/.*"simulated_s": \([0-9.e+-]*\),/\1/p' stopped.json)
end=$(awk -v t="$stopped" 'BEGIN { printf "%.3f", t + 0.2 }')
run sim --resume stopped.soalog --until "$end" --summary stopped.json -q
run sim long.yaml -o straight.soalog --until "$end" --summary straight.json -q
same_figures "after Ctrl-C" stopped.json straight.json
"$soa" export stopped.soalog -o stopped.csv && "$soa" export straight.soalog -o straight.csv
same "after Ctrl-C" stopped.csv straight.csv

# --- seed, case, folder --------------------------------------------------------------------------------------------------
mkdir -p deep/er elsewhere
cat >deep/er/rod.urdf <<'X'
<robot name="rod"><link name="ground"/>
  <link name="bob"><inertial><origin xyz="0 0 -0.5"/><mass value="2"/><inertia ixx="0.02" iyy="0.02" izz="0.02" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="hinge" type="revolute"><parent link="ground"/><child link="bob"/><axis xyz="0 1 0"/>
    <limit lower="-3" upper="3" effort="10" velocity="5"/><dynamics damping="0.25" friction="0.1"/></joint></robot>
X
cat >deep/rod.yaml <<'X'
duration: 0.5
seed: 3
parts:
  - {name: rod, model: er/rod.urdf, positions: {hinge: 1}}
control: {rate: 200, sensors: {position_noise: 0.01}, phases: [{name: hold, actions: [{law: joint-pd, part: rod}]}]}
recording: {checkpoint: 0.05}
sweep: {rod.mass_scale: [0.5, 2], sensors.position_noise: [0.001, 0.1]}
X
run sim deep/rod.yaml --seed 77 --case 5 -o whole5.soalog --summary whole5.json -q
expect "case" 0
run sim deep/rod.yaml --seed 77 --case 5 -o cut5.soalog --until 0.2 -q
(cd elsewhere && "$soa" sim --resume ../cut5.soalog --summary ../cut5.json -q)
code=$?
expect "case taken up elsewhere" 0
same "case" whole5.soalog cut5.soalog
same_figures "case" whole5.json cut5.json
run sim deep/rod.yaml --seed 77 --case 6 --summary other.json -q
if diff <(figures whole5.json) <(figures other.json) >/dev/null; then bad "case 6 is case 5"; else ok; fi

# --- what cannot go on stays as it is -------------------------------------------------------------------------------------
run sim deep/rod.yaml -o changed.soalog --until 0.2 -q
cp changed.soalog before.soalog
sed -i 's/mass value="2"/mass value="2.1"/' deep/er/rod.urdf
run sim --resume changed.soalog
expect "changed model" 2
has "changed model" err "is not of this scenario with these models"
same "changed model" changed.soalog before.soalog
rm deep/er/rod.urdf
run sim --resume changed.soalog
expect "model gone" 2
has "model gone" err "rod.yaml:4:5: part 'rod':"
same "model gone" changed.soalog before.soalog
for file in /dev/null /nonexistent "$arm"; do
    run sim --resume "$file"
    expect "--resume $file" 2
done
run sim --resume whole.soalog "$arm"
expect "two things at once" 2
run sim --resume whole.soalog --seed 3
expect "--resume --seed" 2
has "--resume --seed" err "the journal knows its run"
# a journal that another process writes
"$soa" sim long.yaml -o busy.soalog -q >out 2>err &
pid=$!
for _ in $(seq 600); do [ -s busy.soalog ] && break; sleep 0.05; done
run sim --resume busy.soalog
expect "busy" 2
has "busy" err "another process is writing it"
kill -9 $pid
wait $pid 2>/dev/null
# damage: the last checkpoint is skipped, the end is the same
run sim "$arm" -o hurt.soalog --until 0.3 -q
size=$(stat -c %s hurt.soalog)
printf 'XXXX' | dd of=hurt.soalog bs=1 seek=$((size - 5000)) conv=notrunc 2>/dev/null
run sim --resume hurt.soalog --summary hurt.json -q
expect "damaged checkpoint" 0
same_figures "damaged checkpoint" whole.json hurt.json

finish
