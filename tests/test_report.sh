#!/usr/bin/env bash
# test_report.sh SOA  `soa report` and `soa plot`: one whole file each; damaged, foreign and unfinished logs; mistakes.
set -u
soa=$(cd "$(dirname "${1:?usage: test_report.sh SOA}")" && pwd)/$(basename "$1")
corpus=$(cd "$(dirname "$0")" && pwd)/corpus/journal
dir=$(mktemp -d) || exit 1
trap 'chmod -R u+w "$dir" 2>/dev/null; rm -rf "$dir"' EXIT
cd "$dir" || exit 1
export LC_ALL=C
echo leak:libfontconfig >known # it keeps its tables until the end, by pointers that leak checkers cannot follow
export LSAN_OPTIONS=suppressions=$dir/known:print_suppressions=0${LSAN_OPTIONS:+:$LSAN_OPTIONS}
tests=0 failures=0
run() { "$soa" "$@" >out 2>err </dev/null; code=$?; }
check() { # WHAT CONDITION...
    local what=$1
    shift
    tests=$((tests + 1))
    if ! "$@"; then failures=$((failures + 1)); echo "FAILED $what: $(head -c 300 err) $(head -c 300 out)"; fi
}
is() { [ "$code" = "$1" ]; }
has() { grep -qF -- "$2" "$1"; }
lacks() { ! grep -qE -- "$2" "$1"; }
nothing_left() { [ -z "$(find . -name '*.??????' ! -name '*.soalog')" ]; } # temporary names
size() { stat -c %s "$1"; }

"$soa" sim grapple --until 0.6 -q -o run.soalog >/dev/null 2>err
check "a run to look at" test -s run.soalog
"$soa" sim grapple --until 3 -q -o flipped.soalog >/dev/null 2>err
cp flipped.soalog long.soalog
printf '\377' | dd of=flipped.soalog bs=1 seek=$(($(size flipped.soalog) / 2)) conv=notrunc 2>/dev/null
for name in complete killed torn events no_signals; do cp "$corpus/$name" $name.soaj; done

# --- report
run report run.soalog -o report.html
if has err "without its page"; then
    check "without the page it says so" is 2
    echo "built without the page: reports are not looked at"
else
    check "report" is 0
    check "its size and what is in it are said" has out "61 frames of 61 samples, 193 signals"
    check "the scene" has report.html '<script type="application/json" id="soa-scene">{"kind": "scene"'
    check "the data" has report.html '<script type="text/plain" id="soa-data">'
    check "one scene" test "$(grep -o 'id="soa-scene"' report.html | wc -l)" = 1
    check "nothing from outside" lacks report.html '(src|href)="https?://|@import|url\(["'"'"']?https?:'
    check "no path of this machine" lacks report.html "$dir"
    check "below 20 MB" test "$(size report.html)" -lt 20000000
    check "the phases" has report.html '"phases": ["approach", "contact", "capture", "move", "retreat"]'
    check "the summary" has report.html '"satellite held"'
    check "nothing is left lying about" nothing_left
    run report run.soalog
    check "its default name" cmp -s run.html report.html
    "$soa" report run.soalog -o - 2>err | cat >piped.html
    check "through a pipe" cmp -s piped.html report.html
    run report run.soalog -o report.html -q
    check "quietly, over an older one" is 0
    check "no word" test ! -s out
    ln -s report.html link.html
    run report run.soalog -o link.html -q
    check "a link stays a link" test -L link.html

    # logs of other kinds
    run report complete.soaj -o plots.html
    check "a log without a scenario" is 0
    check "gives plots" has err "plots only"
    check "without bodies" has plots.html '"bodies": []'
    run report killed.soaj -o killed.html
    check "a log without an end" is 0
    check "says so" has err "no end record"
    run report torn.soaj -o torn.html
    check "a torn one" is 0
    run report no_signals.soaj -o none.html
    check "one without signals" is 0
    printf '<robot name="r"><link name="a"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial><visual><geometry><mesh filename="gone.stl"/></geometry></visual><visual><geometry><box size="1 1 1"/></geometry></visual></link></robot>' >r.urdf
    printf 'name: "a </script> <b>"\nduration: 0.05\nparts:\n  - {name: p, model: r.urdf, floating: true}\nrecording: {rate: 100}\n' >s.yaml
    run sim s.yaml -q -o s.soalog
    check "a run of a URDF" is 0
    run report s.soalog -o s.html
    check "its report" is 0
    check "a mesh that is missing is told" has err "gone.stl"
    check "and the other shape drawn" has s.html '"role": "visual"'
    check "the name cannot end the script" has s.html 'a \u003c/script> \u003cb>'
    rm r.urdf
    run report s.soalog -o s.html
    check "when its model is gone" is 0
    check "there are plots only" has err "plots only.  The machine cannot be shown"
    check "and the page says why" has s.html '"text": "The machine cannot be shown'

    # what cannot be
    cp report.html older.html
    run report /dev/null -o older.html
    check "no log" is 2
    check "the older report stays" cmp -s older.html report.html
    head -c 100 run.soalog >cut.soalog
    run report cut.soalog -o older.html
    check "half a header" is 2
    run report missing.soalog -o older.html
    check "no file" is 2
    check "its name is said" has err missing.soalog
    cp run.soalog damaged.soalog
    printf '\377\377\377\377' | dd of=damaged.soalog bs=1 seek=$(($(size run.soalog) / 2)) conv=notrunc 2>/dev/null
    run report damaged.soalog -o damaged.html
    check "a damaged record: a report or a reason, no crash" test "$code" = 0 -o "$code" = 2
    run report flipped.soalog -o flipped.html
    check "one byte flipped: what stands before it" is 0
    check "is said to be a part" grep -qE '^soa report: note: damaged at byte [0-9]+: nothing is shown after t = 1\.[0-9]+ s$' err
    check "in the notes of the page" grep -qE '"notes": \["damaged at byte [0-9]+: nothing is shown after t = 1\.[0-9]+ s"\]' flipped.html
    check "and in its summary" grep -qE '\["the record is", "damaged at byte [0-9]+' flipped.html
    check "its frames end there too" grep -qE ' 1[0-9][0-9] frames of 301 samples' out
    check "a good one says nothing of the kind" lacks report.html 'damaged (or unfinished )?at byte [0-9]'
    run report torn.soaj -o torn.html
    check "one that was cut says so" grep -qE 'damaged or unfinished at byte [0-9]+: nothing is shown after t = ' err
    run report run.soalog -o run.soalog
    check "not over the log itself" is 2
    run report run.soalog -o .
    check "not over a folder" is 2
    run report run.soalog -o nowhere/report.html
    check "no such folder" is 2
    check "is said" has err "nowhere/report.html"
    if [ "$(id -u)" != 0 ]; then
        mkdir shut && chmod 500 shut
        run report run.soalog -o shut/report.html
        check "a folder that may not be written" is 2
    fi
    if [ -e /dev/full ]; then
        run report run.soalog -o /dev/full
        check "a full disk" is 2
    fi
    (ulimit -f 100 && "$soa" report run.soalog -o big.html >out 2>err </dev/null)
    code=$?
    check "a file that may not grow" is 2
    check "leaves nothing" test ! -e big.html
    check "nothing is left lying about, ever" nothing_left
fi

# --- plot
run plot run.soalog 'q.robot.left_*' object.position_error -o plot.svg --title 'Left <arm>'
check "SVG" is 0
check "what was drawn is said" has out "plot.svg: 7 signals, 0 s to 0.6 s"
check "it is one" has plot.svg "<svg "
check "no link to anything" lacks plot.svg '(href|src)="http'
run plot run.soalog 'q.robot.left_*' object.position_error -o plot2.svg --title 'Left <arm>'
check "the same again" cmp -s plot.svg plot2.svg
run plot run.soalog 'tau.robot.*' -o plot.png --dpi 100
check "PNG" is 0
check "it is one" test "$(head -c 4 plot.png | tail -c 3)" = PNG
run plot run.soalog 'tau.robot.*,v.robot.left_joint1' -o plot.pdf --columns 2 --width 200
check "PDF" is 0
check "it is one" test "$(head -c 5 plot.pdf)" = "%PDF-"
run plot run.soalog energy.kinetic --from 0.2 --to 0.4
check "its default name" test -s run.svg
check "a part" has out "0.2 s to 0.4 s"
run plot run.soalog 'contact.left1.*' -o nan.svg --no-phases
check "signals that are NaN throughout" is 0
run plot flipped.soalog energy.kinetic -o flipped.svg
check "one byte flipped: what stands before it" is 0
check "is said to be a part" grep -qE '^soa plot: note: damaged at byte [0-9]+: nothing is shown after t = 1\.[0-9]+ s$' err
run plot long.soalog energy.kinetic -o whole.svg
check "a good one says nothing" test ! -s err
check "and shows more" test "$(size whole.svg)" -gt "$(size flipped.svg)"
run plot complete.soaj 'a*' energy -o a.svg
check "a log without a scenario" is 0
run plot run.soalog q.robot.left_joint9 -o bad.svg
check "no such signal" is 2
check "the nearest is said" has err "did you mean 'q.robot.left_joint"
run plot run.soalog 'nothing*' -o bad.svg
check "a pattern that fits nothing" is 2
run plot run.soalog energy.kinetic -o bad.jpg
check "an ending nobody knows" is 2
check "those known are said" has err ".svg, .pdf or .png"
run plot run.soalog energy.kinetic --from 5 -o bad.svg
check "after the end" is 2
check "says what there is" has err "from 0 s to 0.6 s"
run plot run.soalog energy.kinetic --from 0.4 --to 0.2 -o bad.svg
check "backwards" is 2
for option in '--columns 9' '--columns 1.5' '--width 1' '--dpi x' '--from soon' '--dpi'; do
    # shellcheck disable=SC2086
    run plot run.soalog energy.kinetic -o bad.svg $option
    check "$option" is 2
done
run plot run.soalog
check "without a signal" is 2
run plot run.soalog energy.kinetic -o nowhere/x.svg
check "no such folder" is 2
check "nothing bad was written" test ! -e bad.svg -a ! -e bad.jpg
run plot /dev/null energy -o bad.svg
check "no log" is 2
run plot no_signals.soaj '*' -o bad.svg
check "a log without signals" is 2
check "nothing is left lying about" nothing_left

echo "$tests checks, $failures failed"
[ "$failures" = 0 ]
