#!/usr/bin/env bash
# test.sh  everything that `make test` does, one line per stage; details of a failure follow its
# line.
#
#   release    gcc, as users get it: every test
#   python     the Python package: wheel built and installed into a fresh environment, pytest, doctests
#   asan       address and undefined-behaviour sanitizers: all tests except those that compile code
#              or measure long motions
#   tsan       thread sanitizer: the threads test
#   clang      the other compiler, warnings as errors: one or two tests of each room
#   embedded   libsoa alone, for small targets: builds, links and runs with only libc and libm; also
#              for Cortex-M4F and M7, where it runs under QEMU (tests/program/embedded.sh)
#
# Each build has its own directory (build, build-asan, ...), so that a second run compiles only what
# changed. SOA_STAGES="release clang" runs some of them; SOA_JOBS=n uses n cores.
set -euo pipefail
cd "$(dirname "$0")/.."
jobs=${SOA_JOBS:-$(nproc)}
logs=build/test-logs
mkdir -p "$logs"
logs=$PWD/$logs
begun=$(date +%s)
passed=0 failed=0
skips=()

red= plain=
if [ -t 1 ] && [ -z "${NO_COLOR:-}" ]; then red=$'\e[31m' plain=$'\e[0m'; fi

# start STAGE WHAT, then finish RESULT: print one line
start() {
    printf '%-9s %-48s ' "$1" "$2"
    stage_begun=$(date +%s)
}
finish() { printf '%-24s %4d s\n' "$1" $(($(date +%s) - stage_begun)); }
shout() { printf '%s%-24s%s %4d s\n' "$red" "$1" "$plain" $(($(date +%s) - stage_begun)); }
details() { # LOG; the lines to show come from standard input
    sed 's/^/    | /' | tail -n 60
    echo "    | all of it: ${1#"$PWD"/}"
}

# build STAGE WHAT [TARGET]: configures the preset and builds it
build() {
    local log=$logs/$1-build.log
    start "$1" "build, $2"
    local more=() oracles=$PWD/build/libsoa_oracles.a # the same oracles for all builds
    if [ "$1" != release ] && [ -s "$oracles" ]; then more=("-DSOA_ORACLES=$oracles"); fi
    if cmake --preset "$1" "${more[@]}" >"$log" 2>&1 && cmake --build --preset "$1" -j "$jobs" ${3:+--target "$3"} >>"$log" 2>&1; then
        finish ok
    else
        failed=$((failed + 1))
        shout FAILED
        grep -v -E '^\[ *[0-9]+[%/].*(Building|Linking|Built|Generating)' "$log" | details "$log"
        return 1
    fi
}

# run STAGE WHAT DIRECTORY CTEST-ARGUMENT...: runs ctest there, under the command in `under`, if any
under=()
run() {
    local stage=$1 log=$logs/$1-test.log xml=$logs/$1-test.xml code=0 tests bad skipped line
    start "$stage" "test, $2"
    rm -f "$xml"
    (cd "$3" && "${under[@]}" ctest -j "$jobs" --output-on-failure --no-tests=error --output-junit "$xml" "${@:4}") >"$log" 2>&1 || code=$?
    number() { awk -v name="$1" 'match($0, "^[ \t]*" name "=\"[0-9]+\"") { gsub(/[^0-9]/, ""); print; exit }' "$xml"; }
    if [ ! -s "$xml" ]; then
        failed=$((failed + 1))
        shout FAILED
        details "$log" <"$log"
        return
    fi
    tests=$(number tests) bad=$(number failures) skipped=$(($(number skipped) + $(number disabled)))
    passed=$((passed + tests - bad - skipped)) failed=$((failed + bad))
    while read -r line; do skips+=("$stage $line"); done < <(
        awk '/<testcase / { split($0, part, "\""); name = part[2] }
             sub(/.*SKIPPED: */, "") || (!/test\(s\)/ && sub(/.*\[ *SKIPPED *\] */, "")) { if (!seen[name $0]++) print name ": " $0 }' "$xml")
    if [ "$code" = 0 ]; then
        finish "$((tests - skipped)) passed$([ "$skipped" = 0 ] || echo ", $skipped skipped")"
    else
        [ "$bad" -gt 0 ] || failed=$((failed + 1))
        shout "$bad of $tests FAILED"
        grep -E '\*\*\*|^[[:space:]]+[0-9]+ - |FAIL|ERROR|[Ee]rror:|[Ss]anitizer' "$log" | details "$log"
    fi
}

stage_release() {
    build release "gcc $(gcc -dumpfullversion)" || return 0
    run release "everything" build
}
stage_asan() {
    build asan "gcc, address and undefined behaviour" || return 0
    SOA_TREES=50 UBSAN_OPTIONS=print_stacktrace=1 run asan "everything, fewer random trees" build-asan \
        -E '^(generated|emit|counts|estimation|headers|install|accuracy|andrews|bricard|fourbar|grasp_momentum|divide|classical|invariance|inertia_updates|operators|diagonalised|mujoco|control_motion|control_grapple|integrators|oscillators|contact|friction|world_joints|sweep|page|served|playground|wasm|op_page|cli|resume|.*_portable)$'
}
stage_tsan() {
    build tsan "gcc, threads" test_threads || return 0
    # This sanitizer cannot use the addresses of a kernel that randomises them widely.
    if setarch -R true 2>/dev/null; then under=(setarch -R); fi
    TSAN_OPTIONS=halt_on_error=1 run tsan "threads" build-tsan -R '^threads$'
    under=()
}
stage_clang() {
    build clang "clang $(clang -dumpversion)" || return 0
    SOA_TREES=100 run clang "one of each room" build-clang \
        -R '^(identities|reference|smoother|closed|closed_known|graph|grasp|factor|distance|hull|control|scenario|journal|world_state|urdf|threads)$'
}
stage_embedded() {
    build embedded "libsoa alone" || return 0
    start embedded "test, a program against it"
    local log=$logs/embedded-test.log program=build-embedded/pendulum
    if { cc -std=c11 -Os -Iinclude examples/pendulum.c build-embedded/libsoa.a -lm -Wl,--gc-sections -o $program &&
        $program && size $program; } >"$log" 2>&1; then
        passed=$((passed + 1))
        finish "1 passed ($(tail -n 1 "$log" | awk '{ print int($1 / 1000) }') kB)"
    else
        failed=$((failed + 1))
        shout FAILED
        details "$log" <"$log"
    fi

    start embedded "test, Cortex-M4F and M7 under QEMU"
    log=$logs/embedded-cortex-m.log
    local code=0
    SOA_JOBS=$jobs tests/program/embedded.sh >"$log" 2>&1 || code=$?
    case $code in
    0)
        passed=$((passed + 1))
        finish "1 passed"
        ;;
    77)
        skips+=("embedded cortex-m: $(sed -n 's/.*SKIPPED: *//p' "$log")")
        finish "1 skipped"
        ;;
    *)
        failed=$((failed + 1))
        shout FAILED
        details "$log" <"$log"
        ;;
    esac
}

# Adds the counts of the last lines of all runs of pytest in the log, "3 failed, 120 passed, 2 skipped in 12 s".
count_pytest() { # LOG
    local lines
    lines=$(grep -E '^(=+ )?[0-9]+ (passed|failed|error)' "$1")
    number_of() { { grep -oE "[0-9]+ $1" <<<"$lines" || true; } | awk '{ sum += $1 } END { print sum + 0 }'; }
    passed=$((passed + $(number_of passed)))
    failed=$((failed + $(number_of failed) + $(number_of 'errors?')))
    while read -r skipped; do skips+=("python $skipped"); done < <(sed -n 's/^SKIPPED \[[0-9]*\] //p' "$1" | sort -u)
}
stage_python() {
    start python "wheel, a fresh environment"
    local code=0 log=$logs/python-build.log
    scripts/python.sh >"$log" 2>&1 || code=$?
    case $code in
    0) finish ok ;;
    77)
        skips+=("python: $(sed -n 's/.*SKIPPED: *//p' "$log")")
        finish skipped
        return
        ;;
    *)
        failed=$((failed + 1))
        shout FAILED
        details "$log" <"$log"
        return
        ;;
    esac
    start python "test, the installed package"
    log=$logs/python-test.log
    code=0
    (cd build && SOA_PROGRAM=$PWD/soa python/bin/python -m pytest -q -rfEs -p no:cacheprovider ../tests/python) >"$log" 2>&1 || code=$?
    (cd build && python/bin/python -m pytest -q -rfEs -p no:cacheprovider --doctest-modules --pyargs soa) >>"$log" 2>&1 || code=$?
    local before=$failed
    count_pytest "$log"
    if [ "$code" = 0 ]; then
        finish "$(grep -oE '[0-9]+ passed' "$log" | paste -sd+ | sed 's/ passed//g' | xargs -I{} sh -c 'echo $(({}))') passed"
    else
        [ "$failed" -gt "$before" ] || failed=$((failed + 1))
        shout FAILED
        grep -E '^(FAILED|ERROR|E  )' "$log" | details "$log"
    fi
}

for stage in ${SOA_STAGES:-release python asan tsan clang embedded}; do
    if ! declare -F "stage_$stage" >/dev/null; then
        echo "test.sh: there is no stage '$stage'" >&2
        exit 2
    fi
    "stage_$stage"
done
for skip in "${skips[@]}"; do echo "SKIPPED in $skip"; done
echo "all stages: $(($(date +%s) - begun)) s"
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
