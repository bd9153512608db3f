# lib.sh  shared by the shell tests; sourced by test_NAME.sh PROGRAM. Afterwards $soa is the
# program, $here the folder tests, and the shell is in a new folder $dir, which is removed at the
# end.
soa=$(cd "$(dirname "${1:?usage: $(basename "$0") PROGRAM}")" && pwd)/$(basename "$1")
here=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
dir=$(mktemp -d) || exit 1
trap 'chmod -R u+w "$dir" 2>/dev/null; rm -rf "$dir"' EXIT
cd "$dir" || exit 1
export LC_ALL=C
tests=0 failures=0 verb=
: >out >err

# run ARGUMENTS...: soa $verb ARGUMENTS on file $in (or nothing); sets out, err and $code
run() {
    "$soa" $verb "$@" <"${in:-/dev/null}" >out 2>err
    code=$?
}
ok() { tests=$((tests + 1)); }
bad() {
    tests=$((tests + 1)) failures=$((failures + 1))
    printf 'FAILED %s\n' "$*"
}
# check WHAT CONDITION...: the command succeeds
check() {
    local what=$1
    shift
    if "$@"; then ok; else bad "$what: $(head -c 300 "$dir/err") $(head -c 300 "$dir/out")"; fi
}
# expect WHAT CODE: the exit code of the last run
expect() { if [ "$code" = "$2" ]; then ok; else bad "$1: exit $code, not $2: $(head -c 300 err)"; fi; }
# has, has_not WHAT FILE TEXT: the file contains the text, or not
has() { if grep -qF -- "$3" "$2"; then ok; else bad "$1: '$3' is not in $2: $(head -c 400 "$2")"; fi; }
has_not() { if grep -qF -- "$3" "$2"; then bad "$1: '$3' is in $2"; else ok; fi; }
# same WHAT FILE FILE: the files have the same bytes
same() { if cmp -s "$2" "$3"; then ok; else bad "$1: $2 and $3 differ: $(diff "$2" "$3" | head -c 400)"; fi; }
# finish: prints the number of checks and ends
finish() {
    echo "$tests checks, $failures failed"
    [ "$failures" = 0 ]
    exit
}
