#!/usr/bin/env bash
# embedded.sh  runs the commands of docs/embedded.md as they are there, from the root of the repository, and compares the
# sizes of its table with what comes out.  scripts/test.sh runs it; without the tools it prints "SKIPPED: why", code 77.
set -euo pipefail
cd "$(dirname "$0")/../.."
for tool in arm-none-eabi-gcc qemu-system-arm python3 cmake; do
    command -v "$tool" >/dev/null || { echo "SKIPPED: $tool is not installed (scripts/setup.sh embedded)"; exit 77; }
done
export CMAKE_BUILD_PARALLEL_LEVEL=${SOA_JOBS:-$(nproc)} LC_ALL=C
page=docs/embedded.md
script=$(mktemp)
trap 'rm -f "$script"' EXIT
awk '/^```sh$/ { inside = 1; next } /^```$/ { inside = 0 } inside' "$page" >"$script"
[ "$(grep -c . "$script")" -ge 15 ] || { echo "$page: the commands are gone"; exit 1; }
timeout 900 bash -euxo pipefail "$script"

failures=0
fail() {
    echo "FAILED $*"
    failures=$((failures + 1))
}

# The flags of the toolchain files reached the compiler: what the objects say of themselves.
attribute() { arm-none-eabi-readelf -A "$1/libsoa.a" | awk -v tag="  $2: " 'index($0, tag) == 1 { print substr($0, length(tag) + 1) }' | sort -u; }
for pair in m4f:VFPv4-D16 "m7:FPv5/FP-D16 for ARMv8"; do
    build=build-cortex-${pair%%:*}
    [ "$(attribute "$build" Tag_CPU_arch)" = v7E-M ] || fail "$build: built for $(attribute "$build" Tag_CPU_arch)"
    [ "$(attribute "$build" Tag_FP_arch)" = "${pair#*:}" ] || fail "$build: unit $(attribute "$build" Tag_FP_arch)"
    [ "$(attribute "$build" Tag_ABI_VFP_args)" = "VFP registers" ] || fail "$build: not the hard-float interface"
    # Position-independent code would go through a global offset table.
    if arm-none-eabi-readelf -rW "$build/libsoa.a" | grep R_ARM_GOT >/dev/null; then fail "$build: position-independent code"; fi
done

# figure ROW COLUMN: of the page's table; within COLUMN 1 is Cortex-M4F, 2 Cortex-M7
figure() { awk -F'|' -v row="$1" -v column="$2" 'index($2, row) { gsub(/[ ,]/, "", $(column + 2)); print $(column + 2) }' "$page"; }
near() { # WHAT SAID MEASURED: within 5 %
    echo "$1: $3 bytes, $page says $2"
    awk -v a="$2" -v b="$3" 'BEGIN { exit !(a ~ /^[0-9]+$/ && b > 0 && b / a < 1.05 && a / b < 1.05) }' || fail "$1"
}
column=0
for build in build-cortex-m4f build-cortex-m7; do
    column=$((column + 1))
    line() { sed -n "s/.*$1 \([0-9]*\) bytes.*/\1/p" "$build/arm.txt"; }
    near "$build code" "$(figure 'code and constants' $column)" "$(arm-none-eabi-size "$build/arm.elf" | awk 'NR == 2 { print $1 }')"
    near "$build model" "$(figure 'model of six' $column)" "$(line model)"
    near "$build work space" "$(figure 'work space' $column)" "$(line 'work space')"
    near "$build stack" "$(figure 'stack (bytes)' $column)" "$(line stack)"
done
[ "$failures" = 0 ]
