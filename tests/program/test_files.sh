#!/usr/bin/env bash
# test_files.sh SOA  outputs: nothing is deleted or truncated before its replacement is complete; links, permissions,
# devices, pipes and other files stay; a record that is removed, moved or cut while it is written is noticed.
. "$(dirname "$0")/../support/lib.sh"
echo leak:libfontconfig >known # it keeps its tables until the end, by pointers that leak checkers cannot follow
export LSAN_OPTIONS=suppressions=$dir/known:print_suppressions=0${LSAN_OPTIONS:+:$LSAN_OPTIONS}

cat >x.yaml <<END
name: x
duration: 0.1
recording: {rate: 100, checkpoint: 0.05}
parts: [{name: a, model: arm7}]
END
printf '{}\n' >states
"$soa" sim x.yaml -q -o log.soalog 2>err || bad "no record: $(cat err)"
# one row a command: its output (it names the ending), the command
rows=(
    "f.soam|save arm7 -o" "f.c|gen arm7 -o" "f.h|gen arm7 -o other.c --header" "f.json|compute arm7 --fn aba --in states --out"
    "f.html|op arm7 FD3 --explain --html" "f.soalog|sim x.yaml -q -o" "f.json|sim x.yaml -q --summary"
    "f.dot|sim grapple --diagram" "f.csv|export log.soalog -o" "f.h5|export log.soalog -o"
    "f.svg|plot log.soalog q.* -o" "f.html|report log.soalog -o"
)
no_page=$("$soa" report log.soalog -o no-page.html 2>&1 | grep "without its page")
for row in "${rows[@]}"; do
    IFS='|' read -r f command <<<"$row"
    [[ $command == report* && -n $no_page ]] && continue
    # a link keeps being one, its target keeps its permissions; NAME.new and NAME.part are the user's
    mkdir -p there
    echo older >there/$f
    chmod 640 there/$f
    ln -sf there/$f $f
    echo mine >$f.new
    echo mine >$f.part
    echo mine >there/$f.new
    run $command $f
    expect "$command" 0
    check "$command: the link stays" test -L $f
    check "$command: its target is new" test "$(head -c 6 there/$f | tr -d '\0')" != older
    check "$command: permissions" test "$(stat -c %a there/$f)" = 640
    check "$command: other files" test "$(cat $f.new $f.part there/$f.new | tr '\n' ' ')" = "mine mine mine "
    check "$command: nothing is left" test -z "$(ls there | grep -vxF -e "$f" -e "$f.new")"
    rm -rf there $f $f.new $f.part
    # a link to nothing: the file appears where it points to
    mkdir there
    ln -s there/$f $f
    run $command $f
    expect "$command, link to nothing" 0
    check "$command: link to nothing" test -L $f -a -s there/$f
    rm -rf there $f
    # a full disk leaves the older file
    echo older >$f
    (trap '' XFSZ; ulimit -f 0; exec "$soa" $command $f) >/dev/null 2>&1 </dev/null
    check "$command: says that the disk is full" test $? != 0
    check "$command: the older file stays" test "$(tr -d '\0' <$f | head -c 20)" = older
    check "$command: nothing is left" test -z "$(ls | grep "^$f\.")"
    rm -f $f
    # what cannot be replaced
    mkdir $f
    run $command $f
    expect "$command, a directory" 2
    rmdir $f
    run $command no/such/folder/$f
    expect "$command, no folder" 2
    if [ "$(id -u)" != 0 ]; then
        echo older >$f
        chmod 400 $f
        run $command $f
        expect "$command, write-protected" 2
        check "$command, write-protected" test "$(cat $f)" = older
        rm -f $f
    fi
    # a pipe is written in place and stays (HDF5 needs a file)
    if [[ $f != *.h5 ]]; then
        run $command $f
        cp $f whole
        rm $f
        mkfifo $f
        timeout 90 cat $f >piped & # a command that never opens the pipe must not hang the test
        child=$!
        timeout 60 "$soa" $command $f >out 2>err </dev/null
        code=$?
        wait $child
        expect "$command to a pipe" 0
        check "$command: the pipe stays" test -p $f
        if [ "$command" = "sim x.yaml -q --summary" ]; then
            check "$command to a pipe" grep -q '"completed": true' piped
        else
            same "$command to a pipe" piped whole
        fi
        rm -f $f
    fi
    if mknod device c 1 7 2>/dev/null; then
        run $command device
        check "$command: a device stays" test -c device
        rm -f device
    fi
done
# standard output that is a file is written on, not over
"$soa" save arm7 -o plain.soam >out
echo before >both
"$soa" save arm7 -o /dev/stdout >>both 2>err
code=$?
expect "save to /dev/stdout" 0
{ echo before; cat plain.soam; } >want
same "save to /dev/stdout" both want
"$soa" save arm7 -o - >dash 2>err
same "save to -" dash plain.soam
check "what is said goes to standard error" grep -q "model 'arm7'" err

# --- records --------------------------------------------------------------------------------------------------------
sed 's/duration: 0.1/duration: 100000/; s/rate: 100/rate: 1000/' x.yaml >long.yaml
# disturb WHAT MESSAGE COMMAND...: a run whose record is disturbed says so and fails
disturb() {
    local what=$1 message=$2
    shift 2
    rm -f r.soalog moved.soalog
    timeout 120 "$soa" sim long.yaml -q -o r.soalog >out 2>err </dev/null &
    local child=$!
    for _ in $(seq 500); do
        [ "$(stat -c %s r.soalog 2>/dev/null || echo 0)" -gt 20000 ] && break
        sleep 0.02
    done
    "$@"
    wait $child
    code=$?
    expect "$what" 2
    has "$what" err "$message"
}
disturb "record removed" "was removed or replaced while it was written" rm r.soalog
disturb "record moved" "was moved while it was written" mv r.soalog moved.soalog
disturb "record cut" "was cut short while it was written" truncate -s 100 r.soalog
disturb "record emptied" "was cut short while it was written" truncate -s 0 r.soalog
replace() { echo other >o && mv o r.soalog; }
disturb "record replaced" "was removed or replaced while it was written" replace
check "the other file is left alone" test "$(cat r.soalog)" = other
move_away() { echo other >o && ln r.soalog moved.soalog && mv o r.soalog; } # at once, or a checkpoint falls between
disturb "record moved and replaced" "is another file now" move_away
check "the other file is left alone" test "$(cat r.soalog)" = other
# an older record stays until the new run goes
"$soa" sim x.yaml -q -o r.soalog
cp r.soalog want
sed 's/parts:.*/parts: [{name: a, model: nowhere}]/' x.yaml >broken.yaml
run sim broken.yaml -o r.soalog
expect "a run that cannot begin" 2
same "the older record stays" r.soalog want
# two runs into one record: the second is refused
timeout 60 "$soa" sim long.yaml -q -o r.soalog >/dev/null 2>&1 &
child=$!
for _ in $(seq 500); do
    cmp -s r.soalog want || break
    sleep 0.02
done
run sim x.yaml -o r.soalog
expect "a record that has a writer" 2
has "a record that has a writer" err "another process is writing it"
kill -INT $child
wait $child
run export r.soalog --list
expect "the first run's record" 0
finish
