#!/usr/bin/env bash
# test_sim.sh PROGRAM  soa sim as people and programs call it: runs, summaries, exit codes, what it says to bad input.
set -u
. "$(dirname "$0")/../support/lib.sh"
verb=sim
python=$(command -v python3 || true)
# json WHAT FILE PYTHON-EXPRESSION: the summary d satisfies it
json() {
    [ -n "$python" ] || return
    if "$python" -c "import json, sys; d = json.load(open('$2')); sys.exit(not ($3))" 2>json.err; then ok
    else bad "$1: $3 in $2: $(cat json.err) $(head -c 600 "$2")"; fi
}
# refuse WHAT TEXT...: the scenario on standard input is refused with status 2, and all texts are in the message
refuse() {
    local what=$1
    shift
    cat >wrong.yaml
    run wrong.yaml --summary wrong.json
    expect "$what" 2
    for text in "$@"; do has "$what" err "$text"; done
}

# --- a ball on the ground, a rod that is held -------------------------------------------------------------------------
cat >drop.yaml <<'X'
name: drop
duration: 0.5
parts:
  - {name: ground, fixed: true, body: {}}
  - {name: ball, body: {mass: 0.1, sphere: 20 mm}, place: [0, 0, 0.05]}
shapes:
  - {name: floor, on: ground, plane: {}}
  - {name: skin, on: ball, sphere: 20 mm}
contacts:
  - {between: [skin, floor], law: hunt-crossley, stiffness: 1e6, friction: 0.4}
X
cat >held.yaml <<'X'
duration: 0.4
gravity: [0, 0, 0]
parts:
  - {name: ball, body: {mass: 1, sphere: 0.1}}
  - {name: ground, fixed: true, body: {}}
shapes:
  - {name: a, group: finger, on: ground, at: [0.1505, 0, 0], sphere: 0.05}
  - {name: b, group: finger, on: ground, at: [-0.1505, 0, 0], sphere: 0.05}
  - {name: skin, on: ball, sphere: 0.1}
contacts: [{between: [finger, skin]}]
control:
  rate: 100
  phases: [{name: wait, next: [{to: hold, when: {signal: phase_time, above: 0.1}}]}, {name: hold}]
success: {object: ball, fingers: finger, from_phase: hold, hold: 0.1}
sweep: {ball.mass_scale: [0.5, 2]}
X
run drop.yaml -o drop.soalog --summary drop.json
expect "drop" 0
has "drop" out "drop: 0.5 s in "
has "drop" out " touches, "
json "drop" drop.json "d['completed'] and d['fault'] is None and d['touches'] >= 1 and d['energy_error_rel'] < 1e-6 and d['contact_created_J'] < 1e-9 and d['momentum_error_rel'] is None"
"$soa" export drop.soalog -o - 2>err | head -1 >columns
has "signals" columns "q.ball.root.z [m]"
has "signals" columns "contact.skin.pressure [N]"
keys="held position_error_m attitude_error_deg fingers_lost internal_force_N momentum_error_rel energy_error_rel real_time_factor"
all_keys="all(k in d for k in '$keys'.split())"
run held.yaml --summary held.json
expect "held" 0
has "held" out "HELD"
json "held" held.json "$all_keys and d['held'] is True and d['fingers'] == 2 and d['fingers_lost'] == 0 and d['phase'] == 'hold'"
run held.yaml -q --summary quiet.json
expect "quiet" 0
if [ -s out ] || [ -s err ]; then bad "--quiet is not: $(cat out err)"; else ok; fi

# --- torques of a program: refused before anything is written -------------------------------------------------------
sed -e 's/{name: hold}]/{name: hold, actions: [{law: external, part: arm}]}]/' \
    -e 's/^parts:/parts:\n  - {name: arm, model: arm7, place: [3, 0, 0]}/' held.yaml >external.yaml
for words in "" "--case 1" "-o external.soalog"; do
    # shellcheck disable=SC2086
    run external.yaml $words --summary external.json
    expect "external $words" 2
    has "external $words" err "external.yaml:14:"
    has "external $words" err "the torques of phase 'hold', action 'external' come from a program (law external)"
    has "external $words" err "run it from Python"
    json "external $words" external.json "d['completed'] is False and 'come from a program' in d['fault']"
done
if [ -e external.soalog ]; then bad "external: a journal was made"; else ok; fi
verb=sweep
run external.yaml --cases 2 -o external.csv
expect "a sweep of external" 2
has "a sweep of external" err "which a sweep cannot ask"
if [ -e external.csv ]; then bad "external: a table was made"; else ok; fi
verb=sim

# --- the grasp is lost: a push takes the ball away ------------------------------------------------------------------------
{ cat held.yaml; echo "disturbances: [{frame: ball, start: 0.15, duration: 0.1, force: [0, 3000, 0]}]"; } >lost.yaml
run lost.yaml --summary lost.json
expect "lost" 1
has "lost" out "NOT HELD"
json "lost" lost.json "$all_keys and d['completed'] and d['held'] is False and d['fingers_lost'] == 2 and d['position_error_m'] > 0.005"
# --- the run fails: shapes overlap under the paper's law ----------------------------------------------------------------
sed -e 's/hunt-crossley, stiffness: 1e6/paper, stiffness: 1e-9, damping: 0/' -e 's/duration: 0.5/duration: 2/' drop.yaml >fails.yaml
run fails.yaml --summary fails.json -o fails.soalog
expect "fails" 2
has "fails" err "stopped at t = "
json "fails" fails.json "d['completed'] is False and 'stopped at t' in d['fault'] and 0 < d['simulated_s'] < 0.5"
# --- a goal out of reach: it goes on, and says that it did not hold -------------------------------------------------------
cat >far.yaml <<'X'
duration: 1
parts: [{name: arm, model: arm7, effort: 100, positions: {joint2: 0.7, joint4: -1.2}}]
control:
  phases:
    - name: reach
      actions: [{law: impedance, name: hand, frame: arm.link7, goal: {xyz: [9, 9, 9]}, time: 0.5, max_force: 50}]
      next: [{to: rest, when: {signal: phase_time, above: 0.6}}]
    - {name: rest, blend: 0.1, actions: [{law: joint-pd, part: arm, stiffness: 100, damping: 20}]}
success: {object: arm.link7, hold: 0.2}
X
run far.yaml --summary far.json
expect "out of reach" 1
json "out of reach" far.json "d['completed'] and d['held'] is False and d['position_error_m'] > 1 and d['phase'] == 'rest'"

# --- an object without a goal: judged is what was asked, and the verdict says why ------------------------------------------
cp "$here"/scenarios/{gripper.urdf,pick.yaml,light-wrist.yaml} .
run pick.yaml --summary pick.json
expect "pick" 0
has "pick" out "HELD: all 2 fingers kept; it moved by "
json "pick" pick.json "d['held'] is True and 'no law gave it a goal' in d['verdict'] and d['fingers_lost'] == 0 and 0.12 < d['position_error_m'] < 0.15 and not d['warnings']"
sed 's/from_phase: lift}/from_phase: lift, position_error: 5 mm}/' pick.yaml >stay.yaml
run stay.yaml --summary stay.json
expect "asked to stay" 1
has "asked to stay" out "NOT HELD: moved by 13"
json "asked to stay" stay.json "d['held'] is False and d['verdict'].startswith('moved by 13') and '(5 allowed)' in d['verdict']"
sed 's/from_phase: lift}/from_phase: lift, relative_to: arm.hand, position_error: 1 mm}/' pick.yaml >inhand.yaml
run inhand.yaml --summary inhand.json
expect "asked to stay in the hand" 0
json "asked to stay in the hand" inhand.json "d['held'] is True and '(1 allowed)' in d['verdict'] and d['position_error_m'] < 1e-4"
json "lost, why" lost.json "'2 of 2 fingers lost' in d['verdict']"
json "far, why" far.json "d['verdict'].startswith('off its goal by ') and any(w['code'] == 'out-of-reach' for w in d['warnings'])"
run pick.yaml --until 0.1 --summary early.json
json "too early" early.json "d['held'] is False and 'has not reached its end' in d['verdict']"
sed 's/, from_phase: hold//; /^control:/,/^  phases/d' held.yaml >alone.yaml
run alone.yaml --summary alone.json
expect "held without a controller" 0
json "held without a controller" alone.json "d['held'] is True and d['position_error_m'] < 1e-3"
# --- a law that cannot work at its rate --------------------------------------------------------------------------------------
run light-wrist.yaml --strict --summary light.json
expect "light wrist" 1
has "light wrist" out "warning    [sampled-gain] arm.wrist: law 'joint-pd' of phase 'hold'"
json "light wrist" light.json "all(any(w['code'] == c and w['name'] == 'arm.wrist' and \"law 'joint-pd'\" in w['remedy'] for w in d['warnings']) for c in ('sampled-gain', 'chatter'))"
sed 's/time: 1 s/time: 1 s, stiffness: 20, damping: 0.4/' light-wrist.yaml >calm.yaml
run calm.yaml --strict --summary calm.json
expect "a wrist that is not shaken" 0

# every code of a warning is in the table of docs/worlds.md
codes=$(cat "$here"/../src/world/*.c | tr '\n' ' ' | grep -oE 'soai_warn\( *[a-z]+, *"[a-z-]+"' | grep -oE '"[a-z-]+"' | tr -d '"' |
    sort -u)
check "warnings have codes" test "$(wc -w <<<"$codes")" -ge 7
for c in $codes; do has "a warning's code is documented" "$here/../docs/worlds.md" "| \`$c\` |"; done

# --- options ----------------------------------------------------------------------------------------------------------------
run held.yaml --diagram phases.dot
expect "--diagram" 0
has "--diagram" phases.dot 'label="wait"'
has "--diagram" phases.dot "phase_time > 0.1"
run drop.yaml --diagram phases.dot
expect "--diagram without phases" 2
has "--diagram without phases" err "no phases to draw"
run held.yaml --diagram /nonexistent/x.dot
expect "--diagram nowhere" 2
run drop.yaml --until 0.1 --summary until.json -q
json "--until" until.json "abs(d['simulated_s'] - 0.1) < 1e-12"
for wrong in 0 -1 x nan inf ""; do
    run drop.yaml --until "$wrong"
    expect "--until '$wrong'" 2
done
run held.yaml --case 4 --summary case4.json -q
run held.yaml --case 4 --summary case4b.json -q
run held.yaml --case 5 --summary case5.json -q
json "--case" case4.json "d['seed'] == json.load(open('case4b.json'))['seed'] != json.load(open('case5.json'))['seed']"
for wrong in -1 1.5 x 99999999999999999999999; do
    for option in --case --seed; do
        run held.yaml $option "$wrong"
        expect "$option $wrong" 2
        has "$option $wrong" err "$option wants a whole number"
    done
done
run held.yaml --seed 18446744073709551615 --summary seed.json -q
has "--seed" seed.json '"seed": 18446744073709551615'
run grapple --until 0.01 --summary stock.json -q
json "a shipped scenario" stock.json "d['scenario'] == 'grapple' and $all_keys"
json "what is not measured yet" stock.json "d['position_error_m'] is None and d['attitude_error_deg'] is None"
run grapple --until 0.01
has "what is not measured yet" out "object     internal force 0 N (0 to 0)"
if grep -qi nan out stock.json; then bad "nan in a summary: $(cat out)"; else ok; fi
run grappel
expect "a name that is none" 2
has "a name that is none" err "did you mean 'grapple"
run; expect "nothing" 2
run drop.yaml held.yaml; expect "two scenarios" 2
run drop.yaml --wrong; expect "an option that is none" 2
run --help
expect "--help" 0
for text in --resume --summary --until --case --seed --diagram "Exit status"; do has "--help" out "$text"; done

# --- cases, and numbers that are nothing ------------------------------------------------------------------------------------
run drop.yaml --case 3
expect "a case of nothing" 2
has "a case of nothing" err "--case 3: drop.yaml has no sweep and no noisy sensors, so all its cases are one; leave --case out"
run "$here/scenarios/sweep.yaml" --case 2 -q
check "a case of a sweep" test $code != 2
run billiard --until 0.01 -q -o nought.soalog --summary nought.json
"$soa" export nought.soalog --events -o nought.csv >/dev/null
has "the balls lie on the table" nought.csv "touch,table skin1 0 m/s"
has_not "no -0 in events" nought.csv " -0 "
has_not "no -0 in the summary" nought.json " -0,"

# --- files ------------------------------------------------------------------------------------------------------------------
run drop.yaml -o /nonexistent/run.soalog
expect "log nowhere" 2
has "log nowhere" err "/nonexistent/run.soalog"
run drop.yaml --summary /nonexistent/summary.json -q
expect "summary nowhere" 2
run nothing.yaml
expect "no scenario" 2
has "no scenario" err "nothing.yaml"
# something else than a scenario, or than a record
"$soa" save puma560 -o puma.soam >/dev/null
printf '<!DOCTYPE html>\n<html></html>\n' >page.html
printf '<robot name="a"><link name="b"/></robot>\n' >robot.urdf
other() { # WHAT TEXT ARGUMENTS...
    local verb= what=$1 text=$2
    shift 2
    run "$@"
    expect "$what" 2
    has "$what" err "$text"
}
other "a log to run" "drop.soalog is the record of a run; soa view, report, plot and export take it, and soa sim --resume" \
    sim drop.soalog
other "a log to sweep" "is the record of a run" sweep drop.soalog
other "a log as a model" "is the record of a run" info drop.soalog
other "a model to run" "puma.soam is a saved model; soa info, compute, drop, view and others take it" sim puma.soam
other "a shipped model to run" "puma560 is a shipped model; soa info" sim puma560
other "a URDF file to run" "robot.urdf is a model (URDF); soa info" sim robot.urdf
other "a scenario to resume" "drop.yaml is a scenario, not a record" sim --resume drop.yaml
for command in "report NAME" "plot NAME q" "export NAME"; do
    other "$command of a scenario" "drop.yaml is a scenario, not a record; soa sim, sweep and view take it, and soa sim \
drop.yaml -o run.soalog makes a record of it" ${command/NAME/drop.yaml}
    other "$command of a shipped scenario" "billiard is a shipped scenario, not a record" ${command/NAME/billiard}
    other "$command of a model" "puma.soam is a saved model; soa info" ${command/NAME/puma.soam}
done
other "a scenario as a model" "drop.yaml is a scenario; soa sim, sweep and view take it" info drop.yaml
other "a scenario to check" "drop.yaml is a scenario; soa sim" check drop.yaml
other "a page" "page.html is a page of HTML; a browser opens it" report page.html
cp drop.soalog kept.soalog # a run that does not start leaves an older log alone
echo "parts: 3" >broken.yaml
run broken.yaml -o kept.soalog
expect "broken" 2
has "broken" err "broken.yaml:1:8: "
sed 's/0, 0, 0.05/0, 0, -0.05/' drop.yaml >deep.yaml
run deep.yaml -o kept.soalog
expect "overlap" 2
has "overlap" err "deep.yaml:"
has "overlap" err "'floor' and 'skin' overlap by 0.07 m at the start"
if cmp -s drop.soalog kept.soalog; then ok; else bad "the older log was touched"; fi
run drop.yaml -o kept.soalog -q
if cmp -s drop.soalog kept.soalog; then ok; else bad "a new run does not replace the older log"; fi

# --- a full disk: said, with how far all is safe; summary still written ---------------------------------------------------------
sed -e 's/duration: 0.5/duration: 20/' drop.yaml >longer.yaml
echo "recording: {rate: 200, checkpoint: 0.1}" >>longer.yaml
(ulimit -f 100; "$soa" sim longer.yaml -o full.soalog --summary full.json -q >out 2>err)
code=$?
expect "a full disk" 2
has "a full disk" err "File too large; safe up to the checkpoint at t = "
json "a full disk" full.json "d['completed'] is False and 'safe up to' in d['fault']"
(ulimit -f 0; "$soa" sim longer.yaml -o none.soalog -q >out 2>err)
code=$?
expect "no room at all" 2
run --resume full.soalog --until 1 -q --summary resumed.json
expect "and on" 0
json "and on" resumed.json "d['completed'] and abs(d['simulated_s'] - json.load(open('full.json'))['simulated_s']) < 20"
"$soa" sim drop.yaml --summary pipe.json 2>err | true # a reader that goes away does not cost the summary
json "a broken pipe" pipe.json "d['completed']"
if [ -w /dev/full ]; then
    run longer.yaml -o /dev/full --summary full.json -q
    expect "/dev/full" 2
    has "/dev/full" err "No space left on device"
    run drop.yaml --summary /dev/full -q
    expect "summary to /dev/full" 2
    "$soa" sim drop.yaml >/dev/full 2>err
    code=$?
    expect "text to /dev/full" 2
fi

# --- bad scenarios ------------------------------------------------------------------------------------------------------------
body="parts: [{name: ball, body: {mass: 1, sphere: 0.1}}]"
arm="parts: [{name: arm, model: arm7}]"
refuse "zero mass" "wrong.yaml:1:" "mass" <<<"parts: [{name: ball, body: {mass: 0, sphere: 0.1}}]"
refuse "NaN" "wrong.yaml:1:" <<<"parts: [{name: ball, body: {mass: .nan, sphere: 0.1}}]"
refuse "infinite" "wrong.yaml:1:" <<<"parts: [{name: ball, body: {mass: .inf, sphere: 0.1}}]"
refuse "negative stiffness" "wrong.yaml:9:" "stiffness" < <(sed 's/stiffness: 1e6/stiffness: -1e6/; 1d' drop.yaml; )
refuse "no parts" "parts" <<<"duration: 1"
refuse "endless" "too long" <<<"{duration: 1e200, $body}"
refuse "late sensors" "sensors.delay" <<<"{$body, control: {sensors: {delay: 1e9}, phases: [{name: a}]}}"
refuse "a joint that is none" "wrong.yaml:1:" "there is no joint 'arm.joint9'" "did you mean 'arm.joint" \
    <<<"parts: [{name: arm, model: arm7, positions: {joint9: 1}}]"
refuse "a frame that is none" "wrong.yaml:2:" "there is no frame 'arm.link77'; did you mean 'arm.link7'" <<X
$arm
control: {phases: [{name: a, actions: [{law: impedance, frame: arm.link77}]}]}
X
refuse "a part that is none" "wrong.yaml:2:" "did you mean 'arm'" <<X
$arm
control: {phases: [{name: a, actions: [{law: joint-pd, part: arn}]}]}
X
refuse "no such goal" "wrong.yaml:2:" "'arm.joint0'" <<X
$arm
control: {phases: [{name: a, actions: [{law: joint-pd, part: arm, goal: {joint0: 1}}]}]}
X
refuse "no such object" "wrong.yaml:2:" "there is no frame 'arm.linc7'; did you mean 'arm.link7'" <<X
$arm
success: {object: arm.linc7}
X
refuse "a disturbance of nothing" "wrong.yaml:2:" "there is no frame 'arm.linc7'" <<X
$arm
disturbances: [{frame: arm.linc7, duration: 1, force: [1, 0, 0]}]
X
refuse "a loop to nothing" "wrong.yaml:2:" "there is no frame 'arm.linc7'" <<X
$arm
constraints: [{kind: distance, frames: [world, arm.linc7], value: 1}]
X
refuse "a model that is none" "wrong.yaml:1:" "arm77" <<<"parts: [{name: arm, model: arm77}]"
refuse "an order that is none" "order" <<<"{$body, integration: {method: explicit, order: 7}}"
refuse "a chain that cannot reach" "do not close" <<X
parts: [{name: a, model: "planar-chain:1"}]
constraints: [{kind: distance, frames: [world, a.tip], value: 5}]
X

# --- rates that do not divide: samples fall on ticks, the nearest number of them; no phases: ticks are the record's --------------
cat >rates.yaml <<X
duration: 1
$body
control: {rate: 500, phases: [{name: a}]}
recording: {rate: 300}
X
run rates.yaml -o rates.soalog -q
expect "rates" 0
"$soa" export rates.soalog -o - >rates.csv 2>err
if [ "$(wc -l <rates.csv)" -eq 252 ]; then ok; else bad "300 Hz of 500: $(wc -l <rates.csv) lines, not 252"; fi

# --- limits and collisions: stated in the summary, said where something is missing ------------------------------------------
cat >leg.urdf <<'X'
<robot name="leg"><link name="body"><inertial><mass value="1"/><inertia ixx="0.01" iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial>
<collision><geometry><box size="0.2 0.2 0.1"/></geometry></collision></link>
<link name="shin"><inertial><mass value="0.2"/><inertia ixx="0.001" iyy="0.001" izz="0.001" ixy="0" ixz="0" iyz="0"/></inertial>
<collision><origin xyz="0 0 -0.2"/><geometry><sphere radius="0.03"/></geometry></collision>
<collision name="skin"><geometry><mesh filename="package://nowhere/shin.stl"/></geometry></collision></link>
<joint name="knee" type="revolute"><parent link="body"/><child link="shin"/><axis xyz="0 1 0"/><limit lower="0.1" upper="1" effort="5" velocity="5"/></joint></robot>
X
leg='{name: leg, model: leg.urdf, floating: true, place: [0, 0, 0.5]'
cat >leg.yaml <<X
name: leg
duration: 1
parts: [{name: g, fixed: true, body: {}}, $leg}]
shapes: [{name: floor, on: g, plane: {}}]
X
run leg.yaml --summary leg.json
expect "a leg" 0
has "a leg" out "limits     leg: 1 stop, stiffness "
has "a leg" out "collisions leg: 2 <collision> shapes, 2 can touch something here; 1 cannot be used"
has "a leg" out "by default hunt-crossley: stiffness "
has "a leg" out "[mesh-missing] leg.shin: "
has "a leg" out "package://nowhere/shin.stl"
has "a leg" out "[start-outside-limits] leg.knee: "
json "a leg" leg.json "[w['code'] for w in d['warnings']] == ['start-outside-limits', 'mesh-missing']"
json "a leg" leg.json "d['limits'][0]['part'] == 'leg' and d['limits'][0]['stops'] == 1 and d['limits'][0]['stiffness'][0] > 0"
json "a leg" leg.json "d['collisions'][0]['in_use'] == 2 and d['collisions'][0]['friction'] == 0.6"
json "a leg" leg.json "d['collisions'][0]['unusable'][0]['mesh'] == 'package://nowhere/shin.stl'"
json "a leg" leg.json "d['cannot_touch'] == [] and d['touches'] > 0 and abs(d['energy_error_rel']) < 1e-6"
json "a leg" leg.json "d['momentum_error_rel'] is None"
run leg.yaml --strict
expect "a leg, strictly" 1
sed 's/floating: true/floating: true, collisions: false, limits: false/' leg.yaml >bare.yaml
run bare.yaml --summary bare.json
expect "without either" 0
has "without either" out "limits     leg: 1 joint with limits that do not act"
has "without either" out "cannot touch: leg"
json "without either" bare.json "d['limits'][0]['stops'] == 0 and d['cannot_touch'] == ['leg'] and d['collisions'] == []"
json "without either" bare.json "sorted(w['code'] for w in d['warnings']) == ['cannot-touch', 'falls-forever']"
refuse "a mesh that was asked for" "wrong.yaml:2:" "link 'shin' cannot be used" <<X
name: leg
parts: [{name: g, fixed: true, body: {}}, $leg, collisions: true}]
shapes: [{name: floor, on: g, plane: {}}]
X
refuse "a leg in the floor" "overlap by" "collisions: false" <<X
parts: [{name: g, fixed: true, body: {}}, {name: leg, model: leg.urdf, floating: true}]
shapes: [{name: floor, on: g, plane: {}}]
X
mkfifo pipe.stl
refuse "a mesh that is a pipe" "no regular file" <<X
{parts: [{name: g, fixed: true, body: {}}], shapes: [{name: floor, on: g, mesh: pipe.stl}]}
X
sed 's/duration: 1/duration: 0.6/; s/floating: true/&, mass_scale: 1/' leg.yaml >swept.yaml
echo 'sweep: {leg.mass_scale: [0.5, 2]}' >>swept.yaml
"$soa" sweep swept.yaml --cases 3 -o swept.csv >out 2>err || bad "sweep of a leg: $(cat err)"
if grep -q momentum out; then bad "sweep of a leg speaks of momentum: $(cat out)"; else ok; fi
has "sweep of a leg" out "energy balance within"

"$soa" sweep swept.yaml --cases 2 -o strict.csv --strict >out 2>err
code=$?
expect "a sweep with warnings, strictly" 1
has "a sweep with warnings" out "2 with warnings"
check "column of warnings" test "$(awk -F, 'NR == 1 { for (i = 1; i <= NF; ++i) if ($i == "warnings") n = i } NR == 2 { print ($n > 0) }' strict.csv)" = 1

# --- keys that come to nothing ------------------------------------------------------------------------------------
cat >idle.yaml <<X
name: idle
duration: 0.1
gravity: [0, 0, 0]
parts: [{name: a, model: arm7, effort: 5}, {name: b, body: {mass: 1, sphere: 0.1}, place: [3, 0, 0]}]
springs: [{name: s, frames: [a, b], stiffness: 10}]
disturbances: [{frame: b, start: 5, duration: 1, force: [1, 0, 0]}]
integration: {method: fixed, order: 4, step: 3 ms}
control: {rate: 1 kHz}
recording: {rate: 100}
X
run idle.yaml --summary idle.json
expect "keys that come to nothing" 0
json "keys that come to nothing" idle.json "{'effort-unused', 'disturbance-late', 'step-cut', 'rate-unused'} <= set(w['code'] for w in d['warnings'])"

# --- units of coordinates: a length is no angle -------------------------------------------------------------------------
refuse "a length for an angle" ":2:" "'joint1' is a length (m, mm); expected an angle (rad, deg): the joint is revolute" <<'X'
duration: 0.01
parts: [{name: arm, model: arm7, positions: {joint1: 60 mm}}]
X
refuse "a speed for a turning rate" "'joint1' is a speed (m/s); expected a turning rate (rad/s, deg/s)" <<'X'
parts: [{name: arm, model: arm7, rates: {joint1: 60 m/s}}]
X
refuse "a length as goal of an angle" "'joint1' is a length (m, mm)" <<'X'
parts: [{name: arm, model: arm7}]
control: {phases: [{name: go, actions: [{law: joint-pd, part: arm, goal: {joint1: 5 mm}}]}]}
X
printf 'duration: 0.01\nparts: [{name: arm, model: arm7, positions: {joint1: 60 deg}, rates: {joint1: 5 deg/s}}]\n' >unit.yaml
run unit.yaml -o unit.soalog -q
expect "angles" 0
json "the step that is taken" idle.json "[abs(w['value'] - 2.5e-3) < 1e-12 for w in d['warnings'] if w['code'] == 'step-cut'] == [True]"
run idle.yaml -q --strict
expect "quiet and strict" 1
has "quiet and strict" err "warning [effort-unused]"

# --- links without mass that a loop holds ---------------------------------------------------------------------------
{
    echo "<robot name='r'><link name='base'/>"
    for n in a b; do
        echo "<link name='$n'><inertial><origin xyz='0.5 0 0'/><mass value='1'/><inertia ixx='0.01' iyy='0.1' izz='0.1' ixy='0' ixz='0' iyz='0'/></inertial></link>"
    done
    echo "<joint name='ja' type='continuous'><parent link='base'/><child link='a'/><axis xyz='0 1 0'/></joint>"
    echo "<joint name='jb' type='continuous'><parent link='base'/><child link='b'/><origin xyz='0 0 1'/><axis xyz='0 1 0'/></joint>"
    echo "<link name='rod'/><joint name='jr' type='continuous'><parent link='a'/><child link='rod'/><origin xyz='1 0 0'/><axis xyz='0 1 0'/></joint>"
} >open.urdf
{
    cat open.urdf
    echo "<loop_joint name='pin' type='revolute'><link1 link='rod' xyz='0 0 1'/><link2 link='b' xyz='1 0 0'/><axis xyz='0 1 0'/></loop_joint></robot>"
} >held.urdf
echo "</robot>" >>open.urdf
verb=
run check held.urdf
expect "a massless rod that a loop holds" 0
has "a massless rod that a loop holds" out "held.urdf: 0 errors"
has "a massless rod that a loop holds" out "the loops hold it"
run check open.urdf
expect "a massless rod that nothing holds" 1
verb=sim
echo "{name: held, duration: 0.2, parts: [{name: m, model: held.urdf}]}" >held.yaml
run held.yaml --summary held.json
expect "a massless rod that a loop holds" 0
json "a massless rod that a loop holds" held.json "d['closure_error'] < 1e-12 and d['energy_error_rel'] < 1e-6 and d['constraint_rank'] == 2"

finish
