#!/usr/bin/env bash
# test_cli.sh PROGRAM  the soa program as other programs and people call it: outputs, messages, exit codes.
set -u
. "$(dirname "$0")/../support/lib.sh"
unset NO_COLOR

# --- small tools ---------------------------------------------------------------------------------------------------
lines() { if [ "$(wc -l <"$2")" -eq "$3" ]; then ok; else bad "$1: $(wc -l <"$2") lines in $2, not $3"; fi; }
# numbers FILE: all numbers in it, one per line, without the keys
numbers() { sed 's/"[^"]*"//g' "$1" | grep -oE '[-+]?[0-9]+(\.[0-9]+)?([eE][-+]?[0-9]+)?'; }
# close_to WHAT FILE1 FILE2 TOLERANCE: columns of numbers agree
close_to() {
    if paste "$2" "$3" | awk -v t="$4" 'NF != 2 { bad = 1 } { d = $1 - $2; s = $2 < 0 ? -$2 : $2; if (s < 1) s = 1
         if (d < 0) d = -d; if (!(d <= t * s)) bad = 1 } END { exit bad || NR == 0 }'; then ok
    else bad "$1: $(paste "$2" "$3" | head -8 | tr '\n\t' ' |')"; fi
}
# ask MODEL FN LINE...: the answers to the lines, in out
ask() {
    local model=$1 fn=$2
    shift 2
    printf '%s\n' "$@" >asked
    in=asked run compute $model --fn "$fn"
}
python=$(command -v python3 || true)

# --- models of our own ---------------------------------------------------------------------------------------------
# A pendulum: 2 kg, centre of mass 0.5 m below the hinge, which turns about y.
cat >pendulum.urdf <<'X'
<robot name="pendulum">
  <link name="ground"/>
  <link name="bob">
    <inertial><origin xyz="0 0 -0.5"/><mass value="2"/>
      <inertia ixx="0.02" iyy="0.02" izz="0.02" ixy="0" ixz="0" iyz="0"/></inertial>
  </link>
  <link name="tip"/>
  <joint name="hinge" type="revolute">
    <parent link="ground"/><child link="bob"/><axis xyz="0 1 0"/>
    <limit lower="-3" upper="3" effort="10" velocity="5"/><dynamics damping="0.25"/>
  </joint>
  <joint name="tip_joint" type="fixed"><origin xyz="0 0 -1"/><parent link="bob"/><child link="tip"/></joint>
</robot>
X
# A gripper: a slide, a wrist, a finger and its mimic.
cat >gripper.urdf <<'X'
<robot name="gripper">
  <link name="base"/>
  <link name="carriage"><inertial><mass value="3"/>
    <inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <link name="palm"><inertial><origin xyz="0.1 0.02 0"/><mass value="1"/>
    <inertia ixx="0.01" iyy="0.012" izz="0.013" ixy="0.001" ixz="0" iyz="0"/></inertial></link>
  <link name="finger"><inertial><origin xyz="0.02 0 0"/><mass value="0.1"/>
    <inertia ixx="1e-4" iyy="1e-4" izz="1e-4" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <link name="thumb"><inertial><origin xyz="0.02 0 0"/><mass value="0.1"/>
    <inertia ixx="1e-4" iyy="1e-4" izz="1e-4" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="slide" type="prismatic"><parent link="base"/><child link="carriage"/><axis xyz="1 0 0"/>
    <limit lower="0" upper="1" effort="10" velocity="1"/></joint>
  <joint name="wrist" type="continuous"><origin xyz="0 0 0.1" rpy="0.3 0 0"/><parent link="carriage"/>
    <child link="palm"/><axis xyz="0 0 1"/></joint>
  <joint name="close" type="prismatic"><origin xyz="0.2 0.03 0"/><parent link="palm"/><child link="finger"/>
    <axis xyz="0 1 0"/><limit lower="0" upper="0.04" effort="10" velocity="1"/></joint>
  <joint name="follow" type="prismatic"><origin xyz="0.2 -0.03 0"/><parent link="palm"/><child link="thumb"/>
    <axis xyz="0 1 0"/><limit lower="-0.04" upper="0" effort="10" velocity="1"/>
    <mimic joint="close" multiplier="-1"/></joint>
</robot>
X
# An arm whose last link has no inertia: nothing that the last joint could move.
sed -e '/<link name="tip"\/>/d' -e 's/<link name="ground"\/>/&<link name="tip"\/>/' \
    -e 's/name="tip_joint" type="fixed"/name="tip_joint" type="continuous"/' pendulum.urdf >massless.urdf

# --- help, version, mistakes ---------------------------------------------------------------------------------------
in=
run
expect "no command" 2
has "no command" err "usage: soa COMMAND"
for flag in help --help -h; do
    run $flag
    expect "$flag" 0
    has "$flag" out "usage: soa COMMAND"
done
run version
expect version 0
has version out "soa "
cp out version
run --version
same --version out version
commands=$("$soa" help | sed -n '/^commands:/,/^$/p' | awk 'NF > 1 { print $1 }')
for command in info check compute gen save models sim export drop demo completion version help; do
    case " $(echo $commands) " in *" $command "*) ok ;; *) bad "help does not list $command" ;; esac
    run $command --help
    expect "$command --help" 0
    has "$command --help" out "usage: soa $command"
    cp out help1
    run help $command
    same "help $command" out help1
done
for command in info check compute gen save models sim export drop demo completion; do
    run help $command
    has "help $command" out "examples:"
done
run infoo
expect "unknown command" 2
has "unknown command" err "did you mean 'info'?"
run help cmpute
expect "help of an unknown command" 2
has "help of an unknown command" err "did you mean 'compute'?"
run info puma560 --flaoting
expect "unknown option" 2
has "unknown option" err "did you mean '--floating'?"
run info puma56
expect "unknown model" 2
has "unknown model" err "puma560"
run info no/such/file.urdf
expect "missing file" 2
has "missing file" err "no/such/file.urdf"
run info
expect "no model" 2
has "no model" err "MODEL is missing"
run info puma560 arm7
expect "two models" 2
run compute puma560
expect "no --fn" 2
has "no --fn" err "--fn"
run compute puma560 --fn
expect "--fn without value" 2
run compute puma560 --fn rnea --fn aba
expect "--fn twice" 2
run compute puma560 --fn rneaa
expect "unknown function" 2
has "unknown function" err "did you mean 'rnea'?"
run compute puma560 --fn ""
expect "empty list" 2
run compute puma560 --fn rnea,,aba
expect "hole in the list" 2
run compute puma560 --fn mass:tip
expect "link where none belongs" 2
run compute pendulum.urdf --fn pose:tpi
expect "unknown link" 2
has "unknown link" err "did you mean 'tip'?"
for g in 1,2 1,2,x 1,2,3,4 nan,0,0 ""; do
    run compute puma560 --fn rnea --gravity "$g"
    expect "--gravity '$g'" 2
done
run compute puma560 --fn rnea --in no/such/input
expect "missing input" 2
run gen puma560
expect "gen without -o" 2
run gen puma560 -o x.c --prefix 9lives
expect "gen with a bad prefix" 2
run completion tcsh
expect "unknown shell" 2
run plot run.soalog
has "only what is missing is named" err "soa plot: SIGNAL... is missing"
run op arm7
has "only what is missing is named" err "soa op: EXPRESSION is missing"
run op
has "only what is missing is named" err "soa op: MODEL EXPRESSION is missing"
for words in "puma560 --gravity 0 0 -9.8" "--gravity 0 0 -9.8 puma560" "puma560 --gravity 0 0 9.8"; do
    run info $words
    expect "info $words" 2
    has "info $words" err "--gravity wants three numbers with commas between"
done
run info puma560 --gravity ' 1, 2 ,3 '
expect "--gravity with blanks" 0
has "--gravity with blanks" out "gravity 1 2 3 m/s^2"
run drop --q 1,2
has "drop with too few numbers" err "--q must be 6 numbers with commas between, 2 were given"
run drop --q 1,2,x,4,5,6
has "drop with a wrong number" err "something is wrong at 'x,4,5,6'"
if [ -e drop.csv ]; then bad "drop writes before it has understood --q"; else ok; fi

# --- scenarios by name ---------------------------------------------------------------------------------------------
run models --scenarios
expect "the shipped scenarios" 0
ls "$here/../scenarios" | sed 's/\.yaml$//' | sort >want
sort out >got
same "the shipped scenarios" got want
run models
has "models lists scenarios too" out "stack               five boxes stand on each other"
run models --names --scenarios
expect "--names --scenarios" 2
run models --keys
expect "models --keys" 0
has "models --keys" out "success       object, relative_to, fingers, from_phase, hold, position_error, attitude_error, force"
check "models --keys, one line for each section" test "$(wc -l <out)" = 24
run models --keys --names
expect "--keys --names" 2
run sim nosuch
expect "unknown scenario" 2
has "unknown scenario" err "; shipped are billiard, "
run sweep nosuch
has "unknown scenario of a sweep" err "; shipped are billiard, "
run sim stak
has "nearest scenario" err "neither a file nor a shipped scenario; did you mean 'stack'?"
run view stak
expect "nearest scenario of view" 2
if grep -q libwebsockets err; then echo "soa view was not built: left out"; else
    has "nearest scenario of view" err "neither a file, a shipped scenario nor a shipped model; did you mean 'stack'?"
    run view puma56
    has "nearest model of view" err "did you mean 'puma560'?"
    run view nothing_near
    has "nothing near" err "(soa models lists them)"
fi

# --- op: what no state can mend is said before any is read, a name that none explains after the last -----------------
refused() { # EXPRESSION, TEXT
    run op arm7 "$1"
    expect "op '$1'" 2
    has "op '$1'" err "$2"
}
refused 'inv(Mas T' "'Mas' is neither an operator nor a vector"
has "the place of the mistake" err "      ^"
check "on a line by itself" grep -qx " *^" err
refused 'inv(Mass) T + inv(Mas) T' "'Mas' is neither"
refused 'inv(Mass' "this '(' is never closed"
refused 'T )' "this does not belong here"
refused 'H phi T' "takes link, but this one gives joint"
refused 'H phi' "apply it to a vector"
refused 'x' "'x' is neither an operator nor a vector"
echo '{"vars": {"x": {"space": "joint", "value": [1,2,3,4,5,6,7]}}}' >one
in=one run op arm7 'x'
expect "op of the state's own vector" 0
has "op of the state's own vector" out '{"result": [1, 2, 3, 4, 5, 6, 7]}'
echo '{"fext": [{"link": "likn7", "wrench": [0,0,0,0,0,0]}]}' >one
in=one run op arm7 T
has "op with an unknown link" out "fext[0]: no link 'likn7'; did you mean 'link7'?"
in=
run op arm7 T --parts likn7
has "parts of an unknown link" err "did you mean 'link7'?"
# derivatives: a direction, the columns of the Jacobian, the library's own
echo '{"q": [0.3,0.4,0,-1,0,0.3,0], "v": [0,1,0,1,0,1,0], "tau": [1,2,3,0,0,0,0], "dq": [0,1,0,0,0,0,0]}' >one
fd="inv(Mass) (T - H phi (M phi' a + b))"
in=one run op arm7 --ideal "d($fd)"
expect "op of a derivative" 0
cp out direction
in=one run op arm7 --ideal --jacobian q "$fd"
expect "op --jacobian" 0
cp out jacobian
in=one run op arm7 --ideal --jacobian q --dense "$fd"
expect "op --jacobian --dense" 0
cp out formed
sed 's/, "dq".*/}/' one >two
in=two run compute arm7 --ideal --fn daba_dq
expect "compute daba_dq" 0
in=
if [ "$python" ]; then
    check "the Jacobian is that of soa compute" "$python" -c '
import json
def read(name, key):
    return json.load(open(name))[key]
column, jacobian, formed = (read(name, "result") for name in ("direction", "jacobian", "formed"))
library = read("out", "daba_dq")
near = lambda a, b: abs(a - b) <= 1e-9 * max(1, abs(b))
assert all(near(row[1], c) for row, c in zip(jacobian, column))
for mine in (jacobian, formed):
    assert all(near(a, b) for x, y in zip(mine, library) for a, b in zip(x, y))
'
fi
run op arm7 --derive "d(phi' H' thd)"
has "rules of a derivative" out "d(phi) = phi E_phi Theta phi"
run op arm7 --explain --jacobian q ID
has "a Jacobian as an operator" out "as an operator: H (bar("
run op arm7 --jacobian x T
expect "op --jacobian x" 2
run op arm7 --jacobian q Mass
has "the Jacobian of an operator" err "this is an operator, expected a vector"
refused 'd(d(T))' "there are no second ones"
refused 'd(Delta V)' "no rule is known"
refused 'cross(T) V' "cross(x) needs a link vector x"

# --- models and info -----------------------------------------------------------------------------------------------
run models
expect models 0
has models out puma560
run models --names
for name in $(sed -e 's/:N$/:5/' -e 's/:SEED$/:3/' out); do
    run info "$name"
    expect "info $name" 0
    run info "$name" --json
    expect "info $name --json" 0
    if [ "$python" ]; then
        $python - "$name" <<'X' || bad "info $name --json does not add up"
import json, sys
d = json.load(open('out')); j = d['joints']
assert sum(x['nq'] for x in j) == d['nq'] and sum(x['nv'] for x in j) == d['nv']
assert d['bodies'] == len(j) + len(d['mimic'])
q = v = 0
for x in j:
    assert x['q_index'] == q and x['v_index'] == v, x
    q += x['nq']; v += x['nv']
    assert x['type'] in 'revolute prismatic helical cylindrical universal planar spherical free'.split()
    assert x['link'] in [f['name'] for f in d['frames'] if f['is_link']]
X
        ok
    fi
    echo '{}' >one
    in=one run compute "$name" --fn rnea,bias,gravity,mass,pose,jacobian,jdot_v,energy,com,momentum,drnea_dq,drnea_dv
    expect "compute $name" 0
    in=one run compute "$name" --fn aba,mass_inv,daba_dq,daba_dv
    case $code in 0) ok ;; 1) has "aba of $name" out "moves no inertia" ;; *) bad "aba of $name: exit $code" ;; esac
    in=
done

run info pendulum.urdf
expect "info for people" 0
for text in pendulum hinge revolute tip "-3 .. 3" bob; do has "info for people" out "$text"; done
run info pendulum.urdf --json
for text in '"nq": 1, "nv": 1, "bodies": 1' '"name": "hinge", "type": "revolute", "link": "bob"' \
    '"q_index": 0, "nq": 1, "v_index": 0, "nv": 1' '"lower": -3, "upper": 3'; do has "info --json" out "$text"; done
for text in '"parent": "world"' '"R": [1, 0, 0, 0, 1, 0, 0, 0, 1], "p": [0, 0, 0], "axis"' '"rotor_model": "reflected"' \
    '"bytes": {"model": '; do has "info --json" out "$text"; done
run info gripper.urdf --json
has "a joint's place in its parent" out '"p": [0.20000000000000001, 0.029999999999999999, 0], "axis": [0, 1, 0]'
run info puma560
has "bytes" out "memory: model "
for model in arm7 quadruped humanoid; do
    run info $model
    set -- $(sed -n 's/^memory: model \([0-9]*\), work space \([0-9]*\), batch.*/\1 \2/p' out)
    row="| $(echo $1 | sed 's/...$/,&/') | $(echo $2 | sed 's/...$/,&/') |"
    if grep -F "soa info $model" "$here/../docs/start.md" | grep -F "$row" >/dev/null; then ok; else bad "docs/start.md has other bytes of $model than $row"; fi
done
run info gripper.urdf --joints
printf '%s\n' slide wrist close >want
same "info --joints" out want
run info pendulum.urdf --links
printf '%s\n' bob ground tip >links
sort out >sorted
same "info --links" sorted links
run info pendulum.urdf --json --floating
has "--floating" out '"name": "root", "type": "free", "link": "ground"'
has "--floating" out '"nq": 8, "nv": 7'
run info gripper.urdf --json
has "mimic" out '"nq": 3, "nv": 3, "bodies": 4'
has "mimic" out '"follows": "close", "ratio": -1'
run info gripper.urdf --json --ideal
has "mimic set free" out '"nq": 4, "nv": 4, "bodies": 4'
has_not "mimic set free" out '"follows"'

# --- loops ---------------------------------------------------------------------------------------------------------
run info four-bar --tree
expect "info --tree" 0
for text in '|- crank  (A, revolute)' '`~ rocker  (C, revolute, cut)' 'rank 2 of 5 rows, 1 degree of freedom' \
    '|o 1  crank  (A, revolute)' '`x 4  terminating link of C' '`* 6  connector on rocker, where C arrives' \
    'C: T0_1(A) T1_2(B) T2_4(C) = T0_5 T5_3(D) T3_6'; do has "info --tree" out "$text"; done
run info chain:40 --tree
expect "info --tree of a chain" 0
has "info --tree of a chain" out '(+28) link40'
run info four-bar --tree --json
expect "--tree --json" 2
run info four-bar
has "info of a loop" out 'C  revolute  5 rows  coupler - rocker  axis 0 -1 0'
run info four-bar --json
has "info --json of a loop" out '"constraints": ['
has "info --json of a loop" out '"name": "C", "kind": "loop", "rows": 5, "type": "revolute"'
run info puma560 --json
has "info --json without loops" out '"constraints": []'
# two arms in a square, closed by a pin
cat >square.urdf <<'X'
<robot name="square">
  <link name="base"/>
  <link name="a"><inertial><origin xyz="0.5 0 0"/><mass value="1"/>
    <inertia ixx="0.01" iyy="0.09" izz="0.09" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <link name="b"><inertial><origin xyz="0 0.5 0"/><mass value="1"/>
    <inertia ixx="0.09" iyy="0.01" izz="0.09" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <link name="c"><inertial><origin xyz="0.5 0 0"/><mass value="1"/>
    <inertia ixx="0.01" iyy="0.09" izz="0.09" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="ja" type="continuous"><parent link="base"/><child link="a"/><axis xyz="0 0 1"/></joint>
  <joint name="jb" type="continuous"><origin xyz="1 0 0"/><parent link="a"/><child link="b"/><axis xyz="0 0 1"/></joint>
  <joint name="jc" type="continuous"><origin xyz="0 1 0"/><parent link="base"/><child link="c"/><axis xyz="0 0 1"/></joint>
  <loop_joint name="pin" type="revolute">
    <link1 link="b" xyz="0 1 0"/><link2 link="c" xyz="1 0 0"/><axis xyz="0 0 1"/>
  </loop_joint>
</robot>
X
run check square.urdf
expect "check of a loop" 0
has "check of a loop" out "square.urdf:12: note: [loop-redundant] 3 of 5 rows"
has "check of a loop" out "0 errors, 0 warnings, 1 note; nq 3, nv 3, 3 moving bodies, 3 kg, 1 constraint"
run check bricard
expect "check of a shipped loop" 0
has "check of a shipped loop" out "note: [loop-redundant] 1 of 5 rows of the constraints is redundant (joint6 "
run check four-bar
has "check of a shipped loop" out "3 of 5 rows of the constraints are redundant (the first: C has a row that always holds)"
sed 's/<link1 link="b" xyz="0 1 0"/<link1 link="b" xyz="0 7 0"/' square.urdf >apart.urdf
run check apart.urdf
has "loop that does not close" out "apart.urdf:12: warning: [loop-not-closable] loop_joint 'pin' is open by 6"
# whatever takes the tree alone says so, on standard error only; what keeps the loops, or depends on q and v alone, does not
for model in four-bar square.urdf; do
    ask $model aba,pose,mass,closed '{}'
    expect "tree alone: compute" 0
    has "tree alone: compute" err "note: $model brings 1 constraint (loops); aba, mass: of its spanning tree alone, loops left out"
    if grep -q note out; then bad "tree alone: a note among the answers"; else ok; fi
    ask $model assemble,pose,energy,closed '{}'
    if [ -s err ]; then bad "tree alone: compute closed: $(cat err)"; else ok; fi
    for words in "op $model FD2 --explain" "op $model FD1 --derive" "gen $model -o tree.c" "ik $model" "save $model -o tree.soam"; do
        in=/dev/null run $words
        has "tree alone: $words" err "note: $model brings 1 constraint (loops); they are left out here: what follows is that of its spanning tree alone"
    done
done
run drop --model four-bar --seconds 0.1
has "tree alone: drop" err "of its spanning tree alone"
# a parallelogram: a and c turn alike, b does not turn.  Its inertia about ja is 2 (0.09 + 0.25) + 1 = 1.68 kg m^2
row() { sed "s/.*\"$1\": \[\([^]]*\)\].*/\1/" out | tr -d ' ' | tr ',' '\n'; }
ask "square.urdf --gravity 0,0,0" closed '{"tau": [1.68, 0, 0]}'
expect "closed" 0
row qdd >got
printf '%s\n' 1 -1 1 >want
close_to "closed" got want 1e-13
for text in '"rows": 5, "rank": 2' '"redundant": "pin has a row that always holds"' '"closure": [0, 0]' \
    '"lambda": {"pin": ['; do has "closed" out "$text"; done
for method in kkt forces null_space; do
    ask "square.urdf --gravity 0,0,0" closed:$method '{"tau": [1.68, 0, 0]}'
    row qdd >got
    close_to "closed:$method" got want 1e-13
    has "closed:$method" out "\"method\": \"$method\""
done
ask square.urdf closed_id:ja '{"a": [1, -1, 1]}'
expect "closed_id" 0
row tau >got
printf '%s\n' 1.68 0 0 >want
close_to "closed_id of one motor" got want 1e-13
ask square.urdf closed_id:ja,closed_id:jc '{"a": [1, -1, 1]}'
row tau >got
printf '%s\n' 0.84 0 0.84 >want
close_to "closed_id of two motors: the least" got want 1e-13
ask square.urdf closed_id '{"a": [1, 1, 1]}'
expect "closed_id of a motion that is not" 1
has "closed_id of a motion that is not" out "a does not obey the constraints"
ask square.urdf assemble,closed,pose:b '{"q": [0.4, 0, 0.3], "v": [1, 0, 0]}'
expect assemble 0
if [ "$python" ]; then
    if $python - <<'X'
import json
d = json.load(open('out')); q = d['assemble']['q']; v = d['assemble']['v']
assert max(d['assemble']['closure']) < 1e-9 and max(d['closed']['closure']) < 1e-9, d
assert abs(q[0] - q[2]) < 1e-8 and abs(q[0] + q[1]) < 1e-8 and abs(v[0] - v[2]) < 1e-8, q
R = d['pose']['b']['R'] # at the q that was found
assert abs(R[0] - 1) < 1e-12, R
X
    then ok; else bad "assemble: $(cat out)"; fi
fi
ask apart.urdf assemble '{}'
expect "assemble that fails" 1
has "assemble that fails" out 'the loops do not close from this guess: \"pin\" is left open'
ask square.urdf closed '{"q": [0.4, 0, 0.3]}'
expect "closed where the loop is open" 0
has_not "closed where the loop is open" out '"closure": [0, 0]'
run compute square.urdf --fn closed:kkkt
expect "unknown method" 2
has "unknown method" err "did you mean 'kkt'?"
run compute square.urdf --fn closed:kkt,closed:forces
expect "two methods" 2
run compute square.urdf --fn closed_id:jz
expect "unknown joint" 2
has "unknown joint" err "no joint 'jz'"
ask puma560 aba,closed '{}'
expect "closed without loops" 0
has "closed without loops" out '"rows": 0, "rank": 0'
run save square.urdf -o square.soam
expect "save of a loop" 0
has "save of a loop" err "brings 1 constraint"
run info square.soam --json
has "a saved model has no loops" out '"constraints": []'

# --- compute: numbers known in closed form -------------------------------------------------------------------------
# pendulum: I = 0.02 + 2 * 0.25 = 0.52, weight moment 9.81, about y with the mass at -z: gravity torque 9.81 sin q
ask "pendulum.urdf --ideal" rnea,gravity,bias,mass,mass_inv,energy,com '{"q": [0.5], "v": [2], "a": [3]}'
expect "pendulum" 0
numbers out >got
awk 'BEGIN { g = 9.81 * sin(0.5); printf "%.17g\n%.17g\n%.17g\n0.52\n%.17g\n1.04\n%.17g\n%.17g\n0\n%.17g\n", 0.52 * 3 + g, g, g,
     1 / 0.52, -9.81 * cos(0.5), -0.5 * sin(0.5), -0.5 * cos(0.5) }' >want
close_to "pendulum" got want 1e-14
ask pendulum.urdf rnea,bias,gravity '{"v": [2]}'
numbers out >got
printf '%s\n' 0.5 0.5 0 >want
close_to "damping counts unless --ideal" got want 1e-14
ask "pendulum.urdf --no-friction" rnea,bias,gravity '{"v": [2]}'
numbers out >got
printf '%s\n' 0 0 0 >want
close_to "--no-friction leaves out damping" got want 1e-14
ask "pendulum.urdf --no-springs" rnea '{"v": [2]}'
numbers out >got
echo 0.5 >want
close_to "--no-springs keeps damping" got want 1e-14
# friction left out, rotors kept: the mass matrix of the whole machine, the torques at a = 0 of the ideal one
moving='{"q": [0.1,0.5,-1,0.3,0.2,0.4], "v": [1,-1,0.5,2,-0.3,1]}'
ask "puma560 --no-friction" mass "$moving"
cp out got
ask puma560 mass "$moving"
same "--no-friction keeps rotors" out got
ask "puma560 --ideal" mass "$moving"
if cmp -s out got; then bad "--ideal drops rotors"; else ok; fi
ask "puma560 --no-friction" rnea "$moving"
numbers out >got
ask "puma560 --ideal" rnea "$moving"
numbers out >want
close_to "--no-friction drops friction" got want 1e-13
run save puma560 --no-friction -o smooth.soam
expect "save --no-friction" 0
ask smooth.soam rnea "$moving"
numbers out >want
close_to "saved without friction" got want 1e-15
ask "pendulum.urdf --gravity 0,0,-2" gravity '{"q": [0.5]}'
numbers out >got
awk 'BEGIN { printf "%.17g\n", 2 * sin(0.5) }' >want
close_to "--gravity" got want 1e-14
ask "pendulum.urdf --ideal" pose:tip,jacobian:tip,jdot_v:tip '{"q": [0.5], "v": [2]}'
numbers out >got
awk 'BEGIN { s = sin(0.5); c = cos(0.5); printf "%.17g\n0\n%.17g\n0\n1\n0\n%.17g\n0\n%.17g\n%.17g\n0\n%.17g\n", c, s, -s, c, -s, -c
     printf "0\n1\n0\n%.17g\n0\n%.17g\n0\n0\n0\n%.17g\n0\n%.17g\n", -c, s, 4 * s, 4 * c }' >want
close_to "kinematics of the tip" got want 1e-14
has "kinematics of the tip" out '"pose": {"tip": {"R": ['
ask pendulum.urdf pose,jacobian,jdot_v,jacobian:tip,pose:tip '{}'
for text in '"ground": {' '"bob": {' '"tip": {' '"jacobian": {"bob": [[' '"tip": [[' '"jdot_v": {"bob": ['; do
    has "links of the answer" out "$text"
done
if [ "$(grep -o '"tip": {' out | wc -l)" = 1 ]; then ok; else bad "pose and pose:tip give the link twice"; fi

# wrenches: 1 N along world x at the tip pushes with lever -cos q; in the link's axes with -1; a couple about y with 1
for w in 'world 0,0,0,1,0,0' 'body 0,0,0,1,0,0' 'world 0,1,0,0,0,0' 'body 0,1,0,0,0,0'; do
    set -- $w
    ask "pendulum.urdf --ideal" rnea,aba "{\"q\": [0.5], \"fext\": [{\"link\": \"tip\", \"wrench\": [$2], \"frame\": \"$1\"}]}"
    expect "wrench $w" 0
    numbers out >got
    awk -v w="$w" 'BEGIN { g = 9.81 * sin(0.5); f = w ~ /0,1,0,0,0,0/ ? 1 : w ~ /world/ ? -cos(0.5) : -1
        printf "%.17g\n%.17g\n", g - f, (f - g) / 0.52 }' >want
    close_to "wrench $w" got want 1e-14
done
ask "pendulum.urdf --ideal" bias,gravity,rnea '{"fext": [{"link": "tip", "wrench": [0,1,0,0,0,0]}]}'
numbers out >got
printf '%s\n' 0 0 -1 >want
close_to "bias and gravity do not see wrenches" got want 1e-14

# the default link is that of the last joint with coordinates of its own, not of its mimic
ask gripper.urdf jacobian,jdot_v '{}'
has "default link" out '"jacobian": {"finger": [['
has_not "default link" out thumb
ask "gripper.urdf --ideal" jacobian '{}'
has "default link, mimic joints free" out '"jacobian": {"thumb": [['

# compliance J M^-1 J' of one joint: [0 1 0 -1 0 0]' [0 1 0 -1 0 0] / 0.52; it moves in one direction only
ask "pendulum.urdf --ideal" compliance:tip '{}'
expect "compliance" 0
numbers out >got
for row in 0 1 0 -1 0 0; do for column in 0 1 0 -1 0 0; do awk "BEGIN { printf \"%.17g\\n\", $row * $column / 0.52 }"; done; done >want
close_to "compliance of a pendulum" got want 1e-12
ask "pendulum.urdf --ideal" operational:tip '{}'
expect "operational space of one joint" 1
has "operational space of one joint" out "link 'tip' cannot move in all six directions here (reciprocal condition number 0)"
ask arm7 observability '{}'
expect "observability of a stretched arm" 0
has "observability of a stretched arm" out '"observability": {"link7": {"rank": 3, "singular": [2, '
ask arm7 observability:link3 '{}'
has "observability of a link" out '"link3": {"rank": 2, '
ask arm7 aba:link3 '{}'
expect "aba is not of a link" 2
ask arm7 estimate,aba '{"tau": [1, 2, 3, 4, 5, 6, 7]}'
expect "estimate without noise" 0
has "estimate without noise" out '"chi_square": 0, "degrees": 0}'
ask arm7 estimate '{"tau_variance": 0.1, "a_variance": [0, 0, 0, 0, 0, 0, null], "unknown": [{"link": "link7", "covariance": [0, 0, 0, 1, 1, 1]}]}'
expect "estimate with noise" 0
has "estimate with noise" out '"wrenches": [{"link": "link7", "wrench": ['
has "estimate with noise" out '"degrees": 6}'
ask arm7 estimate '{"a_variance": 0}'
expect "torques and accelerations both exact" 1
has "torques and accelerations both exact" out "joint 'joint7'): its torque is exact and already follows"
ask arm7 estimate '{"tau_variance": [1, 2]}'
has "too few variances" out "tau_variance has 2 numbers, 7 are wanted"
ask arm7 estimate '{"tau_variance": -1}'
has "a negative variance" out "tau_variance[0] is negative"
ask arm7 estimate '{"unknown": [{"link": "link9", "covariance": [1, 1, 1, 1, 1, 1]}]}'
has "an unknown link" out "unknown[0]: the model has no link 'link9'; did you mean 'link"
ask arm7 estimate '{"unknown": [{"link": "world", "covariance": [1, 1, 1, 1, 1, 1]}]}'
expect "a wrench on the world" 1
ask arm7 estimate '{"unknown": [{"link": "link7"}]}'
has "no covariance" out "unknown[0]: 'covariance' is missing"
ask arm7 estimate '{"unknown": [{"link": "link7", "covariance": [1, 1, -1, 1, 1, 1]}]}'
has "no covariance matrix" out "a covariance must be symmetric and positive semi-definite"
# forward dynamics in the other forms: the same numbers
state='{"q": [0.1,0.2,0.3,0.4,0.5,0.6], "v": [1,2,3,4,5,6], "fext": [{"link": "link6", "wrench": [1,2,3,4,5,6]}]}'
ask "puma560 --ideal" aba,compliance "$state"
numbers out >want
ask "puma560 --ideal" fd_two_sweep "$state"
expect "two sweeps" 0
numbers out >got
close_to "two sweeps: qdd and compliance" got want 1e-9
ask "puma560 --ideal" aba "$state"
numbers out >want
ask "puma560 --ideal" fd_ud "$state"
expect "factored inertias" 0
numbers out >got
close_to "factored inertias" got want 1e-9
ask quadruped fd_two_sweep '{}'
expect "two sweeps of a tree" 1
has "two sweeps of a tree" out "unbranched"
ask "puma560 --ideal" fd_two_sweep:link3 '{}'
expect "two sweeps, an inner link" 1
has "two sweeps, an inner link" out "link 'link3' is not at the end of a chain"

ask "puma560 --ideal" operational,compliance '{"q": [0.1,0.2,0.3,0.4,0.5,0.6], "v": [1,2,3,4,5,6]}'
expect "operational space" 0
has "operational space" out '"lambda": [['
has "operational space" out '"mu": ['

# a machine without joints
echo '<robot name="rock"><link name="rock"/></robot>' >rock.urdf
ask rock.urdf rnea,aba,mass,mass_inv,pose,jacobian:rock,energy,daba_dq '{"q": [], "v": []}'
expect "nothing moves" 0
has "nothing moves" out '"tau": [], "qdd": [], "mass": [], "mass_inv": [], "pose": {"rock": {"R": [1, 0, 0, 0, 1, 0, 0, 0, 1]'
run compute rock.urdf --fn jacobian
expect "no last joint" 2

# links whose names hold commas and colons
sed -e 's/"tip"/"a:b,c, d"/g' -e 's/"hinge"/"x,y"/' pendulum.urdf >comma.urdf
ask comma.urdf "mass,pose:a:b,c, d,jacobian:a:b,c, d, closed_id:x,y" '{}'
expect "a link with commas" 0
for text in '"mass": ' '"pose": {"a:b,c, d": {"R": ' '"jacobian": {"a:b,c, d": ' '"closed_id": '; do has "a link with commas" out "$text"; done
run compute comma.urdf --fn pose:a:b,mass
expect "half the name of a link" 2
has "half the name of a link" err "no link 'a:b'"
in=

# the ways to write options
echo '{"q": [0.5]}' >one
in=one run compute --gravity=0,0,-2 --ideal --fn=gravity -- pendulum.urdf
expect "--option=value, -- and the model last" 0
cp out want
ask "pendulum.urdf --gravity 0,0,-2" gravity '{"q": [0.5]}'
same "--option=value" out want
in=

# the keys stand in the order asked for, and nothing else
ask "pendulum.urdf --ideal" mass,rnea,energy '{}'
echo '{"mass": [[0.52000000000000002]], "tau": [0], "kinetic": 0, "potential": -9.8100000000000005}' >want
same "order of the keys" out want

# --- compute: aba undoes rnea, on every kind of joint --------------------------------------------------------------
round_trip() { # MODEL: random v and a, and q where it is a list of angles and lengths, else neutral
    "$soa" info "$1" --json >info
    nq=$(grep -oE '"nq": [0-9]+' info | head -1 | grep -oE '[0-9]+')
    nv=$(grep -oE '"nv": [0-9]+' info | head -1 | grep -oE '[0-9]+')
    awk -v nq="$nq" -v n="$nv" 'function some(  i, s) { s = ""; for (i = 0; i < n; ++i) s = s (i ? "," : "") (2 * rand() - 1); return s }
        BEGIN { srand(7); for (k = 0; k < 10; ++k) { state = "\"v\": [" some() "]"; a = some()
        if (nq == n) state = state ", \"q\": [" some() "]"
        print state >"rt_state"; printf "{%s, \"a\": [%s]}\n", state, a >"rt_in"; gsub(",", "\n", a); print a >"rt_a" } }'
    in=rt_in run compute "$1" --fn rnea
    expect "rnea of $1" 0
    sed 's/[{}]//g' out | paste -d, rt_state - | sed 's/.*/{&}/' >rt_back
    in=rt_back run compute "$1" --fn aba
    expect "aba of $1" 0
    numbers out >got
    close_to "aba undoes rnea: $1" got rt_a 1e-9
    in=
}
for model in puma560 arm7 quadruped humanoid satellite two-puma-object chain:20 gripper.urdf random:1 random:4; do
    round_trip $model
done

# --- compute: bad lines --------------------------------------------------------------------------------------------
# two hinges and a free base, so that quaternions occur; each line: text expected, tab, input line
cat >cases <<'X'
q has 2 numbers, 8 are wanted	{"q": [1, 2]}
v has 0 numbers, 7 are wanted	{"v": []}
a is a string, a list of 7 numbers is wanted	{"a": "x"}
tau[1] is null, a number is wanted	{"tau": [1, null, 3, 4, 5, 6, 7]}
not JSON	hello
not JSON	{"q": [1, 2
not JSON	{} {}
numbers must be finite	{"v": [NaN,0,0,0,0,0,0]}
numbers must be finite	{"v": [-Infinity,0,0,0,0,0,0]}
larger than any double	{"v": [1e999,0,0,0,0,0,0]}
duplicate	{"v": [1,2,3,4,5,6,7], "v": [1,2,3,4,5,6,7]}
the line is a list	[1, 2]
unknown key 'tua'; did you mean 'tau'?	{"tua": [1]}
unknown key 'velocity'	{"velocity": [1]}
norm 2, not 1	{"q": [0,0,0,2,0,0,0,0]}
joint 'root'	{"q": [0,0,0,1,0.01,0,0,0]}
norm 0, not 1	{"q": [0,0,0,0,0,0,0,0]}
fext is an object	{"fext": {"link": "tip"}}
fext[0]: 'wrench' is missing	{"fext": [{"link": "tip"}]}
fext[0]: 'link' is missing	{"fext": [{"wrench": [1,2,3,4,5,6]}]}
fext[1]: the model has no link 'tpi'; did you mean 'tip'?	{"fext": [{"link": "tip", "wrench": [1,2,3,4,5,6]}, {"link": "tpi", "wrench": [1,2,3,4,5,6]}]}
fext[0]: wrench has 3 numbers, 6 are wanted	{"fext": [{"link": "tip", "wrench": [1,2,3]}]}
fext[0]: frame is 'wrld'	{"fext": [{"link": "tip", "wrench": [1,2,3,4,5,6], "frame": "wrld"}]}
fext[0]: unknown key 'fame'; did you mean 'frame'?	{"fext": [{"link": "tip", "wrench": [1,2,3,4,5,6], "fame": "world"}]}
X
number=0
while IFS=$(printf '\t') read -r text line; do
    number=$((number + 1))
    printf '%s\n' "$line" >>bad_lines
    printf '%s\n' "$line" >one
    in=one run compute pendulum.urdf --floating --fn aba,rnea
    expect "bad line $line" 1
    has "bad line $line" out "$text"
    has "bad line $line" out '{"line": 1, "error": "'
    has "bad line $line" err "1 of 1 lines bad"
done <cases
in=bad_lines run compute pendulum.urdf --floating --fn aba
lines "one answer for each bad line" out $number
grep -oE '^\{"line": [0-9]+, "error": "' out | grep -oE '[0-9]+' >got
seq 1 $number >want
same "line numbers of the errors" got want

# blank lines are counted and skipped; CRLF, NUL, no final newline, a byte order mark
printf '\357\273\277{}\r\n\n  \t\r\n{"v": [1]}\r\n{"v": [\0001]}\nx\n{"v": [2]}' >mixed
in=mixed run compute pendulum.urdf --ideal --fn aba
expect "mixed lines" 1
lines "mixed lines" out 5
sed -n 's/^{"line": \([0-9]*\).*/\1/p' out >got
printf '5\n6\n' >want
same "numbers of the bad lines" got want
has "a NUL byte" out "NUL"
: >empty
in=empty run compute pendulum.urdf --fn aba
expect "no lines at all" 0
lines "no lines at all" out 0

# lines of any length, and many lines
awk 'BEGIN { printf "{\"v\": [1"; for (i = 0; i < 300000; ++i) printf " "; print "]}" }' >long
in=long run compute pendulum.urdf --ideal --fn aba
expect "a line of 300 kB" 0
awk 'BEGIN { for (i = 0; i < 5000; ++i) printf "{\"q\": [%.17g], \"v\": [0.5], \"tau\": [1e0]}\n", i / 1000 }' >many
in=many run compute pendulum.urdf --fn aba,rnea
expect "5000 lines" 0
lines "5000 lines" out 5000
cp out many_out
# a key the quick reader does not know sends the line through the full one: the same digits
sed 's/}$/, "vars": {}}/' many >many_vars
in=many_vars run compute pendulum.urdf --fn aba,rnea
same "both readers give the same digits" out many_out

# numbers too large for the answer are an error, never NaN
ask pendulum.urdf bias,energy '{"v": [1e300]}'
expect "overflow in the answer" 1
has "overflow in the answer" out "not finite"
ask massless.urdf aba '{}'
if [ "$code" = 1 ]; then
    has "massless tip" out "'tip'"
    has "massless tip" out "moves no inertia"
elif [ "$code" = 2 ]; then has "massless tip" err "tip"
else bad "massless tip: exit $code"; fi

# --- compute: files and streams ------------------------------------------------------------------------------------
in=
run compute pendulum.urdf --fn aba,rnea --in many --out answers
expect "--in --out" 0
same "--in --out" answers many_out
if [ "$(ls answers* | wc -l)" = 1 ]; then ok; else bad "a temporary file is left: $(ls answers*)"; fi
echo old >answers
run compute pendulum.urdf --fn aba --in no/such/file --out answers
expect "unreadable input" 2
run compute pendulum.urdf --fn nonsense --in many --out answers
expect "bad list with --out" 2
run compute pendulum.urdf --fn aba --in . --out answers
expect "input is a directory" 2
echo old >want
same "a failed run leaves the old file" answers want
if [ "$(ls answers* | wc -l)" = 1 ]; then ok; else bad "a temporary file is left after failure: $(ls answers*)"; fi
run compute pendulum.urdf --fn aba --in many --out no/such/dir/file
expect "output in no directory" 2
cp many both
run compute pendulum.urdf --fn aba,rnea --in both --out both
expect "input and output are the same file" 0
same "input and output are the same file" both many_out
ln -s linked_to link
echo old >linked_to
run compute pendulum.urdf --fn aba,rnea --in many --out link
same "a link stays a link" linked_to many_out
if [ -L link ]; then ok; else bad "--out replaced a symbolic link"; fi
run compute pendulum.urdf --fn aba --in bad_lines --out answers
expect "bad lines with --out" 1
has "bad lines with --out" answers '"error"'
if [ -w /dev/full ]; then
    "$soa" compute pendulum.urdf --fn aba --in many >/dev/full 2>err
    code=$?
    expect "full disk" 2
    has "full disk" err "cannot write"
    "$soa" info puma560 >/dev/full 2>err
    code=$?
    expect "full disk, info" 2
    "$soa" help >/dev/full 2>err
    code=$?
    expect "full disk, help" 2
fi
("$soa" compute pendulum.urdf --fn mass,aba,rnea,pose --in many 2>err
 echo $? >code) | head -1 >out
code=$(cat code)
expect "reader gone" 2
has "reader gone" err "cannot write"
# a question is answered before the next one is asked
mkfifo questions
"$soa" compute pendulum.urdf --ideal --fn gravity <questions >replies &
child=$!
exec 3>questions
echo '{}' >&3
for _ in $(seq 300); do
    [ -s replies ] && break
    sleep 0.1
done
lines "answers do not wait for the end" replies 1
exec 3>&-
wait $child
# an interrupted run leaves nothing behind
mkfifo questions2
"$soa" compute pendulum.urdf --fn gravity --out broken <questions2 &
child=$!
exec 3>questions2
echo '{}' >&3
for _ in $(seq 300); do
    ls broken.* >/dev/null 2>&1 && break
    sleep 0.1
done
kill -TERM $child
exec 3>&-
wait $child 2>/dev/null
if ls broken* >/dev/null 2>&1; then bad "an interrupted run leaves $(ls broken*)"; else ok; fi

# the locale changes nothing
if command -v localedef >/dev/null && localedef -i de_DE -f UTF-8 "$dir/de_DE.UTF-8" >/dev/null 2>&1; then
    LOCPATH=$dir LC_ALL=de_DE.UTF-8 "$soa" compute pendulum.urdf --fn aba,rnea --in many >out
    same "a locale with a decimal comma" out many_out
    LOCPATH=$dir LC_ALL=de_DE.UTF-8 "$soa" compute pendulum.urdf --fn aba,rnea --in many_vars >out
    same "a locale with a decimal comma, full reader" out many_out
else
    echo "no German locale can be made here: left out"
fi

# every number is what "%.17g" prints, every answer is strict JSON
if [ "$python" ]; then
    in=many run compute pendulum.urdf --fn rnea,aba,mass,mass_inv,pose,jacobian,jdot_v,energy,com,momentum,daba_dq
    $python - <<'X' || bad "answers are not strict JSON with 17 digits"
import json
def number(t):
    assert t == '%.17g' % float(t), t
    return float(t)
def never(t): raise ValueError(t)
for l in open('out'): json.loads(l, parse_float=number, parse_int=number, parse_constant=never)
X
    ok
fi

# --- check ---------------------------------------------------------------------------------------------------------
run check pendulum.urdf
expect "check of a good file" 0
has "check of a good file" out "pendulum.urdf: 0 errors"
run check "$here/../examples/arm.urdf"
expect "check of the example" 0
has "check of the example" out "0 errors, 0 warnings, 0 notes"
sed 's/ixx="0.02"/ixx="-0.02"/' pendulum.urdf >crooked.urdf
run check crooked.urdf
expect "check of an impossible inertia" 1
if grep -qE '^crooked\.urdf:[0-9]+: error: \[[a-z0-9-]+\] .' out; then ok; else bad "check's format: $(cat out)"; fi
if grep -q "$(printf '\033')" out; then bad "colours where there is no terminal"; else ok; fi
run check no_such.urdf
expect "check of no file" 2
echo '<robot><link' >broken_xml.urdf
run check broken_xml.urdf
expect "check of broken XML" 1
if grep -qE '^broken_xml\.urdf:[0-9]+: error: \[xml\] not well-formed XML: ' out; then ok; else bad "check of broken XML: $(cat out)"; fi
has "check of broken XML" out "broken_xml.urdf: 1 error, 0 warnings, 0 notes"
echo '<sdf version="1.6"/>' >other.urdf
run check other.urdf
expect "check of SDF" 1
has "check of SDF" out "other.urdf:1: error: [robot-element] the outermost element is <sdf>"
# whatever a file begins with, it is taken for what it is: bytes of a byte order mark alone are none
for start in '\000\001' '\211PNG' '\357\273' '\376\377' '\377\376' '\377\376\074' 'soamode' ' \t\n' '\357\273\277 '; do
    { printf "$start"; printf '\001\222\377\000%.0s' 1 2 3 4 5 6 7 8; } >noise
    run check noise
    expect "check of noise after '$start'" 2
    has "check of noise after '$start'" err "noise is neither a URDF file (XML) nor a saved model (.soam)"
done
for start in '<' ' \n<' '\357\273\277<' '\376\377\000<' '\377\376<\000' '\376\377\000\n\000<' '\377\376 \000<\000'; do
    { printf "$start"; printf '\001\222\377\000%.0s' 1 2 3 4 5 6 7 8; } >noise
    run check noise
    expect "check of broken XML after '$start'" 1
    has "check of broken XML after '$start'" out "error: [xml] not well-formed XML"
done
# URDF through a pipe, as xacro writes it
for command in info check; do
    "$soa" $command gripper.urdf | sed 's/gripper\.urdf/there/' >expected
    "$soa" $command /dev/stdin < <(cat gripper.urdf) 2>err | sed 's/\/dev\/stdin/there/' >out
    same "$command of a pipe" expected out
done
"$soa" save puma560 -o pipe.soam >/dev/null
"$soa" info /dev/stdin < <(cat pipe.soam) >out 2>err
code=$?
expect "info of a saved model in a pipe" 2
has "info of a saved model in a pipe" err "a saved model is read from a file, not through a pipe"
run check puma560
expect "check of a shipped model" 0
run check massless.urdf
expect "check of a massless tip" 1
has "check of a massless tip" out tip

# --- kindness ------------------------------------------------------------------------------------------------------
cp gripper.urdf mine.urdf
run save mine.urdf -o ./mine.urdf
expect "a model saved over itself" 2
has "a model saved over itself" err "would overwrite what is read"
same "a model saved over itself" gripper.urdf mine.urdf
run op mine.urdf Mass --explain --html mine.urdf
expect "a page written over its model" 2
same "a page written over its model" gripper.urdf mine.urdf
run sim billiard --until 0.05 -q -o new.soalog --summary ./new.soalog
expect "a record and its summary in one file" 2
has "a record and its summary in one file" err "are one file"
run save puma560 -o puma560
expect "a shipped name as a file" 0
rm -f puma560
run gen arm7 -o one.c --header one.c
expect "code and header in one file" 2
has "code and header in one file" err "--out and --header are one file"
run save arm7 --output arm7.soam
expect "--output is --out" 0
for pair in qd:v qdd:a torque:tau qpos:q f_ext:fext; do
    echo "{\"${pair%:*}\": [0]}" >line
    in=line run compute pendulum.urdf --fn aba
    has "key ${pair%:*}" err "did you mean '${pair#*:}'?"
done
echo '{"mass of it": 1}' >line
in=line run compute pendulum.urdf --fn aba
has "a key like none" err "the keys are q v a tau fext"
for pair in fd:aba id:rnea crba:mass minv:mass_inv fk:pose nle:bias; do
    run compute pendulum.urdf --fn ${pair%:*}
    has "function ${pair%:*}" err "did you mean '${pair#*:}'?"
done
run compute arm7 --fn pose:joint6
has "a joint for a link" err "that is a joint, its link is 'link6'"
run compute arm7 gravity
has "a function without --fn" err "usage: soa compute MODEL --fn LIST"
"$soa" compute /dev/stdin --fn rnea < <(cat pendulum.urdf) >out 2>err
code=$?
expect "model and states through one pipe" 2
has "model and states through one pipe" err "give --in FILE"
printf '{"fext": [{"link": "\\u001b[31m", "wrench": [0,0,0,0,0,1]}]}\n' >line
in=line run compute pendulum.urdf --fn rnea
has_not "names do not steer the terminal" err $'\033'
printf '{}\n\n\n{"q": 1}\n' >line
in=line run compute pendulum.urdf --fn rnea
has "blank lines are not counted" err "1 of 2 lines bad; the first, line 4"
run info arm7 --frames
has "--frames" out flange
run info arm7 --links
has_not "--links" out flange
run models --print grapple
expect "a scenario's file" 0
has "a scenario's file" out "name: grapple"
run models --print grappel
expect "a scenario that is not there" 2
has "a scenario that is not there" err "did you mean 'grapple'?"
run sweep stack
expect "a sweep in which nothing varies" 2
has "a sweep in which nothing varies" err "all its cases are one"
echo '<mujoco/>' >robot.xml
run check robot.xml
has "MJCF" out "this is MJCF, not URDF"
mkdir -p ros/there/meshes ros2/share/there/meshes
touch ros/there/meshes/a.stl ros2/share/there/meshes/a.stl
sed 's|</robot>|<link name="seen"><visual><geometry><mesh filename="package://there/meshes/a.stl"/></geometry></visual></link>\
<joint name="glue" type="fixed"><parent link="tip"/><child link="seen"/></joint></robot>|' pendulum.urdf >mesh.urdf
run check mesh.urdf
has "a package nowhere" out package-not-found
ROS_PACKAGE_PATH=/nowhere::$PWD/ros run check mesh.urdf
has_not "ROS_PACKAGE_PATH" out package-not-found
has_not "ROS_PACKAGE_PATH" out mesh-missing
AMENT_PREFIX_PATH=$PWD/ros2 run check mesh.urdf
has_not "AMENT_PREFIX_PATH" out package-not-found

# --- save and gen --------------------------------------------------------------------------------------------------
run save gripper.urdf --gravity 1,2,3 -o gripper.soam
expect save 0
run info gripper.soam --json
expect "info of a saved model" 0
cp out saved
run info gripper.urdf --gravity 1,2,3 --json
same "a saved model is the same model" saved out
ask gripper.soam rnea,mass,aba '{"q": [0.1,0.2,0.01], "v": [1,2,3]}'
cp out saved
ask "gripper.urdf --gravity 1,2,3" rnea,mass,aba '{"q": [0.1,0.2,0.01], "v": [1,2,3]}'
same "a saved model computes the same" saved out
in=
run check gripper.soam
expect "check of a saved model" 0
run save pendulum.urdf -o bytes.soam
has "bytes of a saved model" out " $(wc -c <bytes.soam) bytes; work space "
for command in "save pendulum.urdf" "gen pendulum.urdf"; do
    for path in no/such/dir/x . ; do
        run $command -o $path
        expect "$command -o $path" 2
        if [ "$(grep -oF " $path: " err | wc -l)" = 1 ]; then ok; else bad "$command -o $path: $(cat err)"; fi
    done
done
run save pendulum.urdf -o no/such/dir/x.soam
expect "save to nowhere" 2
head -c 200 gripper.soam >cut.soam
run info cut.soam
expect "a cut-off saved model" 2
run gen gripper.urdf -o robot.c --prefix grip
expect gen 0
has gen robot.c grip_
has gen out robot.c
run gen gripper.urdf -o no/such/dir/x.c
expect "gen to nowhere" 2
run gen gripper.urdf -o robot.c --prefix grip --header robot.h
expect "gen --header" 0
has "gen --header" robot.h "enum { grip_nq = 3, grip_nv = 3, grip_bodies = 4 };"
if command -v cc >/dev/null; then
    if cc -std=c11 -O1 -include ./robot.h -Wmissing-prototypes -Werror=missing-prototypes -c robot.c -o robot.o 2>err; then ok
    else bad "generated code: $(head -c 300 err)"; fi
    printf '#include "robot.h"\nint main() { double q[grip_nq] = {0}, M[grip_nv * grip_nv]; return grip_mass(q, M) || !(M[0] > 4.1); }\n' >user.c
    cp user.c user.cpp
    for language in "cc -std=c11 user.c" "${CXX:-c++} user.cpp"; do
        command -v ${language%% *} >/dev/null || continue
        if $language robot.o -lm -o user 2>err && ./user; then ok; else bad "gen --header, $language: $(head -c 300 err)"; fi
    done
fi
run gen gripper.urdf -o robot.c --header no/such/dir/x.h
expect "header to nowhere" 2
has "header to nowhere" err "--header no/such/dir/x.h: "
sed 's/name="pendulum"/name="маятник"/' pendulum.urdf >cyrillic.urdf
run gen cyrillic.urdf -o robot.c
expect "a name that is not ASCII" 0
has "a name that is not ASCII" err "--prefix NAME gives them a better name"

# --- completion ----------------------------------------------------------------------------------------------------
for pair in bash:soa.bash zsh:_soa fish:soa.fish; do
    shell=${pair%%:*} file=$here/../apps/soa/completion/${pair#*:}
    run completion $shell
    expect "completion $shell" 0
    cp out script.$shell
    same "renew with: soa completion $shell > apps/soa/completion/${pair#*:}" script.$shell "$file"
    if command -v $shell >/dev/null; then
        if $shell -n script.$shell 2>err; then ok; else bad "$shell: $(cat err)"; fi
    fi
done
complete_line() {
    PATH=$(dirname "$soa"):$PATH bash -c 'source ./script.bash; compopt() { :; }; COMP_LINE=$1 COMP_POINT=${#1}; _soa
        printf "%s\n" "${COMPREPLY[@]}"' - "$1" >out
}
if [ "$(basename "$soa")" = soa ]; then
    complete_line "soa comp"
    has "completion of a command" out compute
    complete_line "soa info pum"
    has "completion of a model" out puma560
    complete_line "soa info pendulum.urdf --fl"
    has "completion of an option" out --floating
    complete_line "soa compute pendulum.urdf --fn rnea,ab"
    has "completion of a function" out rnea,aba
    complete_line "soa compute pendulum.urdf --fn rnea,pose:t"
    has "completion of a link" out tip
    : >grab.soalog
    completes() { # LINE, REPLY...: exactly these
        complete_line "$1"
        sort out >got
        shift
        printf '%s\n' "$@" | sort >want
        same "completion of '$*'" got want
    }
    completes "soa sim gra" grapple grapple-fixed grapple-paper
    completes "soa sweep st" stack
    completes "soa sim grab" grab.soalog
    completes "soa view pum" puma560 puma560-akb
    completes "soa view sta" stack
    completes "soa view grab" grab.soalog
    completes "soa op ar" arm7
    completes "soa op gripp" gripper.soam gripper.urdf
    completes "soa op gripper.urdf T --tip palm,fi" palm,finger
    completes "soa ik --tip t" ""
    completes "soa ik gripper.urdf --tip th" thumb
    completes "soa op gripper.urdf T --parts " all base carriage finger palm thumb
    completes "soa op arm7 T --axes " link world
    completes "soa drop --model pum" puma560 puma560-akb
    completes "soa drop --model puma560 --se" --seconds
    completes "soa sweep stack --resume --c" --cases
    completes "soa compute square.urdf --fn mass,closed:k" kkt
    completes "soa compute square.urdf --fn closed_id:j" ja jb jc
    completes "soa info gripper.urdf --gravity " ""
    completes "soa help comp" completion compute
    complete_line "soa sim "
    has "files beside scenarios" out grab.soalog
    has "files beside scenarios" out billiard
fi

finish
