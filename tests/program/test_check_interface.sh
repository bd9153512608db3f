#!/usr/bin/env bash
# test_check_interface.sh [TREE]  tests scripts/check-interface.py: the headers of TREE are accepted, and each kind of
# fault that is planted in a copy of one of them is reported.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
tree=${1:-$here/../..}
check=$here/../../scripts/check-interface.py
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0

if ! "$check" --fail --tree "$tree" >"$work/out"; then
    echo "FAILED: the headers should be accepted, but:"
    cat "$work/out"
    failures=1
fi

refused() { # what, declaration, expected part of a line
    rm -rf "$work/tree"
    mkdir -p "$work/tree/include/soa"
    printf '%s\n' "$2" >"$work/tree/include/soa/planted.h"
    if "$check" --fail --tree "$work/tree" >"$work/out"; then
        echo "FAILED: $1: should be refused"
        failures=$((failures + 1))
    elif ! grep -qF -- "$3" "$work/out"; then
        echo "FAILED: $1: expected '$3', found:"
        cat "$work/out"
        failures=$((failures + 1))
    fi
}

refused "a name outside the grammar" 'SOA_API int soa_strange_thing(void);' "soa_strange_thing: names no object"
refused "nine parameters" \
    'SOA_API int soa_model_nq(const soa_model *model, int b, int c, int d, int e, int f, int g, int h, int i);' \
    "soa_model_nq: 9 parameters"
refused "a flag as int parameter" 'SOA_API soa_status soa_constraints_switch(soa_constraints *constraints, int on);' \
    "soa_constraints_switch: int on"
refused "a flag as int field" '    int has_goal; /* a goal is given */' "field has_goal"
refused "a field whose comment says nonzero" '    int quiet; /* nonzero: nothing is printed */' "field quiet"
refused "a function type whose comment says nonzero" '/* Nonzero ends the run. */
typedef int soa_thing_fn(void *user);' "type soa_thing_fn"

[ $failures = 0 ] && echo "all findings as expected"
[ $failures = 0 ]
