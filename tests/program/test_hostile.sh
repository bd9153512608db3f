#!/usr/bin/env bash
# test_hostile.sh SOA  names and texts from files cannot steer the terminal: control characters (C0, DEL, C1), marks of
# direction and broken UTF-8 are shown as escapes, a name with a line end begins no line; JSON, CSV, HTML and C are sound.
. "$(dirname "$0")/../support/lib.sh"

esc=$'\033' csi=$'\302\233' rlo=$'\342\200\256' iso=$'\342\201\246' rlm=$'\342\200\217' del=$'\177' raw=$'\233'
# harmless WHAT FILE...: nothing in them steers a terminal, and no line was forged
harmless() {
    local what=$1 file
    shift
    for file; do
        if grep -qP '[\x00-\x08\x0b-\x1f\x7f]|\xc2[\x80-\x9f]|\xe2\x80[\x8e\x8f\xa8-\xae]|\xe2\x81[\xa6-\xa9]|\xd8\x9c' "$file"; then
            bad "$what: control characters in $file: $(grep -m1 -P '[\x00-\x08\x0b-\x1f\x7f]|\xc2|\xe2|\xd8' "$file" | cat -v | head -c 300)"
        elif ! iconv -f UTF-8 -t UTF-8 "$file" >/dev/null 2>&1; then bad "$what: broken UTF-8 in $file"
        elif grep -q '^FORGED' "$file"; then bad "$what: a forged line in $file"
        else ok; fi
    done
}
# shown WHAT ARGUMENTS...: the program says something, and nothing harmful
shown() {
    local what=$1
    shift
    run "$@"
    check "$what says something" test -s out -o -s err
    harmless "$what (exit $code)" out err
}
is_json() { if command -v python3 >/dev/null; then check "$1" python3 -c 'import json,sys; [json.loads(l) for l in open(sys.argv[1], encoding="utf-8")] if sys.argv[2] == "lines" else json.load(open(sys.argv[1], encoding="utf-8"))' "$2" "${3:-whole}"; fi; }

# what XML can say: no C0 but line ends
bad_name="x${csi}2J${rlo}y${iso}${rlm}${del}&#10;FORGED"
cat >robot.urdf <<END
<robot name="$bad_name">
  <link name="base$bad_name"/>
  <link name="arm$bad_name"><inertial><mass value="1"/><origin xyz="0 0 -0.5"/>
    <inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <link name="tip$bad_name"><inertial><mass value="0.5"/><origin xyz="0 0 -0.2"/>
    <inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="j1$bad_name" type="continuous"><parent link="base$bad_name"/><child link="arm$bad_name"/><axis xyz="0 1 0"/></joint>
  <joint name="j2$bad_name" type="continuous"><parent link="arm$bad_name"/><child link="tip$bad_name"/><axis xyz="0 1 0"/>
    <origin xyz="0 0 -1"/></joint>
</robot>
END
sed 's|<mass value="1"/>|<mass value="-1"/>|' robot.urdf >wrong.urdf
sed 's|<child link="tip[^"]*"/>|<child link="nowhere'"$csi$rlo"'"/>|' robot.urdf >broken.urdf
printf '<robot name="%s]0;pwn%s"><link name="%s"/></robot>\n' "$esc" "$raw" "$raw" >bytes.urdf
for command in info check "info --tree" "info --json" "info --frames" "info --joints" "save -o m.soam" "gen -o m.c --header m.h"; do
    set -- $command
    for file in robot.urdf wrong.urdf broken.urdf bytes.urdf; do
        shown "$command $file" "$1" "$file" "${@:2}"
    done
done
run info robot.urdf
expect "the hostile robot is a robot" 0
has "names are shown escaped" out 'arm''x\u009b2J\u202ey'
has "a line end in a name" out '\nFORGED'
run info robot.urdf --json
is_json "info --json" out
run save robot.urdf -o m.soam
expect save 0
shown "info of a saved model" info m.soam
run gen robot.urdf -o m.c --prefix m
expect gen 0
harmless "generated C" m.c
sed 's|FORGED|*/ FORGED|g' robot.urdf >comment.urdf
run op comment.urdf FD3 --emit-c
expect "op --emit-c" 0
check "a name ends no comment" test "$(sed -n '/for the model/p' out | grep -o '\*/' | wc -l)" = 1
echo '{}' >states
printf '{"q": [0, 0], "%s[2J%s": 1}\n{"q": "%s"}\n%s\n' "$esc" "$rlo" "$csi" "$raw" >>states
for fn in aba pose jacobian mass; do
    in=states shown "compute $fn" compute robot.urdf --fn $fn
    is_json "compute $fn" out lines
done
in=states shown "compute, file" compute robot.urdf --fn aba --in "no${esc}[2J$raw"
in=
printf '{"target": {"%s[2J": {"p": [0, 0, 0]}}}\n{"target": {"p": [0, 0, -1.5]}}\n' "\\u009b\\u202e" >targets
in=targets shown ik ik robot.urdf
in=
for what in "FD3 --explain" "FD3 --count" "FD3 --parts all" "FD3 --parts no$esc" "nonsense$esc$rlo$raw" "FD3 --emit-c"; do
    shown "op $what" op robot.urdf $what
done
run op robot.urdf FD3 --explain --html page.html
expect "op page" 0
tr -d "\n" <page.html >page.line # a line end is no harm there
harmless "op page" out err page.line
shown "unknown command" "no${esc}[2J$raw"
shown "unknown option" info "--no${esc}[2J$raw$rlo"
shown "unknown model" info "no${esc}[2J$raw$rlo.urdf"
shown identity identity "FD3$esc = FD3$raw"
shown models models --print "no$esc$rlo"

# what YAML can say: all of it (signals are named after the joints, without C0)
sed "s|$del&#10;FORGED||g" robot.urdf >quiet.urdf
yaml="\\e]0;pwn\\a\\x9b2J\\u202e\\u2066\\u200f\\x7f\\nFORGED"
cat >world.yaml <<END
name: "w$yaml"
text: "t$yaml"
duration: 0.05
recording: {rate: 100, checkpoint: 0.02}
parts: [{name: "a", model: quiet.urdf}]
END
sed 's|name: "a"|name: "a'"${yaml//\\/\\\\}"'"|' world.yaml >part.yaml
sed 's|model: quiet.urdf|model: "no'"${yaml//\\/\\\\}"'"|' world.yaml >model.yaml
sed 's|^duration.*|"dur'"${yaml//\\/\\\\}"'": 1|' world.yaml >key.yaml
printf 'name: "unclosed %s]0;pwn\nparts: %s\n' "$esc" "$raw" >syntax.yaml
printf 'name: %s%s\nduration: x%s\n' "$csi" "$rlo" "$rlo" >value.yaml
for file in world part model key syntax value; do
    shown "sim $file" sim $file.yaml -o $file.soalog --summary $file.json
    [ -e $file.json ] && { harmless "summary of $file" $file.json; is_json "summary of $file" $file.json; }
    shown "check $file" check $file.yaml
    shown "sweep $file" sweep $file.yaml --cases 2 -o $file.csv
    shown "view $file" view $file.yaml --port "no$esc"
done
run sim world.yaml -o world.soalog
expect "the hostile world runs" 0
has "its name is shown" out 'w\x1b]0;pwn\x07\u009b2J\u202e'
sed 's|name: "a"|name: "a\\x9b2J\\u202e"|' world.yaml >part2.yaml
shown "sim part2" sim part2.yaml -o part2.soalog
expect "a part with such a name" 0
for log in world.soalog part2.soalog; do
    shown "export --list $log" export $log --list
    shown "export $log" export $log -o x.csv
    harmless "CSV of $log" x.csv
    shown "export - $log" export $log -o -
    shown "export events $log" export $log --events -o -
    shown "plot $log" plot $log '*' -o x.svg
    [ -e x.svg ] && harmless "plot of $log" x.svg
    shown "plot a signal $log" plot $log "no${esc}${raw}" -o x.svg
    shown "report $log" report $log -o x.html
    if [ -e x.html ]; then
        check "report of $log: titles are text" test "$(grep -ac "$esc" x.html)" = 0
        if grep -aqP '\xe2\x80\xae|\xc2\x9b' x.html; then bad "report of $log: marks of direction or C1"; else ok; fi
    fi
    shown "resume $log" sim --resume $log
done
cat >sweep.yaml <<END
name: "s$yaml"
duration: 0.02
parts: [{name: "a\\u202e", model: quiet.urdf}]
sweep: {"a\\u202e.mass_scale": [0.9, 1.1]}
END
shown "sweep" sweep sweep.yaml --cases 2 -o sweep.csv
expect "sweep" 0
harmless "table of a sweep" sweep.csv
has "its columns are quoted" sweep.csv ',"a\u202e.mass_scale",'
shown "sweep without -o" sweep sweep.yaml --cases 2
sed 's|^name:.*|name: "../up/\\e[2J"|' sweep.yaml >up.yaml
mkdir up inside
cp quiet.urdf inside
cd inside
"$soa" sweep ../up.yaml --cases 2 >../out 2>../err
cd ..
check "a scenario's name leads to no other folder" test -z "$(ls up)" -a -e inside/_._up__\[2J-sweep.csv
# scripts are text: a title cannot end the report's script
cat >html.yaml <<END
name: "</script><script>alert(1)</script>&<b>"
duration: 0.02
parts: [{name: a, model: arm7}]
END
run sim html.yaml -o html.soalog -q
run report html.soalog -o html.html
[ -e html.html ] && has_not "a title is no script" html.html '<script>alert(1)'
finish
