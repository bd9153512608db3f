#!/bin/sh
# facts.sh DIR: for the peer modules in DIR, prints how the libraries they use were built, read from
# the libraries themselves.
set -eu
for peer in "$1"/peer_*.so; do
    [ -e "$peer" ] || continue
    ldd "$peer" | awk '/mujoco|BulletDynamics|BulletInverse|orocos-kdl|SimTKsimbody|libdart\.so/ { print $3 }' |
        while read -r library; do
            objdump -d --no-show-raw-insn "$library" | awk -v name="$(basename "$library")" '
                /call.*__assert_fail/ { asserts++ }
                $2 ~ /^v/ && /%[xyz]mm/ { avx++ }
                $2 ~ /(mul|add)[ps]d$/ { fp++ }
                END {
                    printf "%-38s %s (%d calls of __assert_fail), %s\n", name,
                           (asserts > 50 ? "assertions on" : "no assertions to speak of"), asserts,
                           (avx ? avx " AVX instructions" : (fp ? "SSE2 only" : "no floating point"))
                }'
        done
done
