#!/usr/bin/env bash
# test_report.sh SOA  `soa report` and `soa plot`: one whole file each; damaged, foreign and unfinished logs; mistakes.
set -u
. "$(dirname "$0")/../support/lib.sh"
corpus=$here/corpus/journal
echo leak:libfontconfig >known # it keeps its tables until the end, by pointers that leak checkers cannot follow
export LSAN_OPTIONS=suppressions=$dir/known:print_suppressions=0${LSAN_OPTIONS:+:$LSAN_OPTIONS}
lacks() { ! grep -qE -- "$2" "$1"; }
nothing_left() { [ -z "$(find . -name '*.??????' ! -name '*.soalog')" ]; } # temporary names
size() { stat -c %s "$1"; }

"$soa" sim grapple --until 0.6 -q -o run.soalog >/dev/null 2>err
check "a run to look at" test -s run.soalog
"$soa" sim grapple --until 3 -q -o flipped.soalog >/dev/null 2>err
cp flipped.soalog long.soalog
printf '\377' | dd of=flipped.soalog bs=1 seek=$(($(size flipped.soalog) / 2)) conv=notrunc 2>/dev/null
for name in complete killed torn events no_signals; do cp "$corpus/$name" $name.soalog; done

# --- report
run report run.soalog -o report.html
if grep -qF "without its page" err; then
    expect "without the page it says so" 2
    echo "built without the page: reports are not looked at"
else
    expect "report" 0
    has "its size and what is in it are said" out "61 frames of 61 samples, 193 signals"
    has "the scene" report.html '<script type="application/json" id="soa-scene">{"kind": "scene"'
    has "the data" report.html '<script type="text/plain" id="soa-data">'
    check "one scene" test "$(grep -o 'id="soa-scene"' report.html | wc -l)" = 1
    check "nothing from outside" lacks report.html '(src|href)="https?://|@import|url\(["'"'"']?https?:'
    check "no path of this machine" lacks report.html "$dir"
    check "below 20 MB" test "$(size report.html)" -lt 20000000
    has "the phases" report.html '"phases": ["approach", "contact", "capture", "move", "retreat"]'
    has "the summary" report.html '"satellite held"'
    check "nothing is left lying about" nothing_left
    run report run.soalog
    check "its default name" cmp -s run.html report.html
    "$soa" report run.soalog -o - 2>err | cat >piped.html
    check "through a pipe" cmp -s piped.html report.html
    run report run.soalog -o report.html -q
    expect "quietly, over an older one" 0
    check "no word" test ! -s out
    ln -s report.html link.html
    run report run.soalog -o link.html -q
    check "a link stays a link" test -L link.html

    # logs of other kinds
    run report complete.soalog -o plots.html
    expect "a log without a scenario" 0
    has "gives plots" err "plots only"
    has "without bodies" plots.html '"bodies": []'
    run report killed.soalog -o killed.html
    expect "a log without an end" 0
    has "says so" err "no end record"
    run report torn.soalog -o torn.html
    expect "a torn one" 0
    run report no_signals.soalog -o none.html
    expect "one without signals" 0
    printf '<robot name="r"><link name="a"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial><visual><geometry><mesh filename="gone.stl"/></geometry></visual><visual><geometry><box size="1 1 1"/></geometry></visual></link></robot>' >r.urdf
    printf 'name: "a </script> <b>"\nduration: 0.05\nparts:\n  - {name: p, model: r.urdf, floating: true}\nrecording: {rate: 100}\n' >s.yaml
    run sim s.yaml -q -o s.soalog
    expect "a run of a URDF" 0
    run report s.soalog -o s.html
    expect "its report" 0
    has "a mesh that is missing is reported" err "gone.stl"
    has "and the other shape drawn" s.html '"role": "visual"'
    has "the name cannot end the script" s.html 'a \u003c/script> \u003cb>'
    rm r.urdf
    run report s.soalog -o s.html
    expect "when its model is gone" 0
    has "there are plots only" err "plots only.  The machine cannot be shown"
    has "and the page says why" s.html '"text": "The machine cannot be shown'

    # what cannot be
    cp report.html older.html
    run report /dev/null -o older.html
    expect "no log" 2
    check "the older report stays" cmp -s older.html report.html
    head -c 100 run.soalog >cut.soalog
    run report cut.soalog -o older.html
    expect "half a header" 2
    run report missing.soalog -o older.html
    expect "no file" 2
    has "its name is said" err missing.soalog
    cp run.soalog damaged.soalog
    printf '\377\377\377\377' | dd of=damaged.soalog bs=1 seek=$(($(size run.soalog) / 2)) conv=notrunc 2>/dev/null
    run report damaged.soalog -o damaged.html
    check "a damaged record: a report or a reason, no crash" test "$code" = 0 -o "$code" = 2
    run report flipped.soalog -o flipped.html
    expect "one byte flipped: what stands before it" 0
    check "is said to be a part" grep -qE '^soa report: note: damaged at byte [0-9]+: nothing is shown after t = 1\.[0-9]+ s$' err
    check "in the notes of the page" grep -qE '"notes": \["damaged at byte [0-9]+: nothing is shown after t = 1\.[0-9]+ s"\]' flipped.html
    check "and in its summary" grep -qE '\["the record is", "damaged at byte [0-9]+' flipped.html
    check "its frames end there too" grep -qE ' 1[0-9][0-9] frames of 301 samples' out
    check "a good one says nothing of the kind" lacks report.html 'damaged (or unfinished )?at byte [0-9]'
    run report torn.soalog -o torn.html
    check "one that was cut says so" grep -qE 'damaged or unfinished at byte [0-9]+: nothing is shown after t = ' err
    run report run.soalog -o run.soalog
    expect "not over the log itself" 2
    run report run.soalog -o .
    expect "not over a folder" 2
    run report run.soalog -o nowhere/report.html
    expect "no such folder" 2
    has "is said" err "nowhere/report.html"
    if [ "$(id -u)" != 0 ]; then
        mkdir shut && chmod 500 shut
        run report run.soalog -o shut/report.html
        expect "a folder that may not be written" 2
    fi
    if [ -e /dev/full ]; then
        run report run.soalog -o /dev/full
        expect "a full disk" 2
    fi
    (ulimit -f 100 && "$soa" report run.soalog -o big.html >out 2>err </dev/null)
    code=$?
    expect "a file that may not grow" 2
    check "leaves nothing" test ! -e big.html
    check "nothing is left lying about, ever" nothing_left
fi

# --- plot
run plot run.soalog 'q.robot.left_*' object.position_error -o plot.svg --title 'Left <arm>'
expect "SVG" 0
has "what was drawn is said" out "plot.svg: 7 signals, 0 s to 0.6 s"
has "it is one" plot.svg "<svg "
check "no link to anything" lacks plot.svg '(href|src)="http'
run plot run.soalog 'q.robot.left_*' object.position_error -o plot2.svg --title 'Left <arm>'
check "the same again" cmp -s plot.svg plot2.svg
run plot run.soalog 'tau.robot.*' -o plot.png --dpi 100
expect "PNG" 0
check "it is one" test "$(head -c 4 plot.png | tail -c 3)" = PNG
run plot run.soalog 'tau.robot.*,v.robot.left_joint1' -o plot.pdf --columns 2 --width 200
expect "PDF" 0
check "it is one" test "$(head -c 5 plot.pdf)" = "%PDF-"
run plot run.soalog energy.kinetic --from 0.2 --to 0.4
check "its default name" test -s run.svg
has "a part" out "0.2 s to 0.4 s"
run plot run.soalog 'contact.left1.*' -o nan.svg --no-phases
expect "signals that are NaN throughout" 0
run plot flipped.soalog energy.kinetic -o flipped.svg
expect "one byte flipped: what stands before it" 0
check "is said to be a part" grep -qE '^soa plot: note: damaged at byte [0-9]+: nothing is shown after t = 1\.[0-9]+ s$' err
run plot long.soalog energy.kinetic -o whole.svg
check "a good one says nothing" test ! -s err
check "and shows more" test "$(size whole.svg)" -gt "$(size flipped.svg)"
run plot complete.soalog 'a*' energy -o a.svg
expect "a log without a scenario" 0
run plot run.soalog q.robot.left_joint9 -o bad.svg
expect "no such signal" 2
has "the nearest is said" err "did you mean 'q.robot.left_joint"
run plot run.soalog 'nothing*' -o bad.svg
expect "a pattern that fits nothing" 2
run plot run.soalog energy.kinetic -o bad.jpg
expect "an ending nobody knows" 2
has "those known are said" err ".svg, .pdf or .png"
run plot run.soalog energy.kinetic --from 5 -o bad.svg
expect "after the end" 2
has "says what there is" err "from 0 s to 0.6 s"
run plot run.soalog energy.kinetic --from 0.4 --to 0.2 -o bad.svg
expect "backwards" 2
for option in '--columns 9' '--columns 1.5' '--width 1' '--dpi x' '--from soon' '--dpi'; do
    # shellcheck disable=SC2086
    run plot run.soalog energy.kinetic -o bad.svg $option
    expect "$option" 2
done
run plot run.soalog
expect "without a signal" 2
run plot run.soalog energy.kinetic -o nowhere/x.svg
expect "no such folder" 2
check "nothing bad was written" test ! -e bad.svg -a ! -e bad.jpg
run plot /dev/null energy -o bad.svg
expect "no log" 2
run plot no_signals.soalog '*' -o bad.svg
expect "a log without signals" 2
check "nothing is left lying about" nothing_left

finish
