#!/bin/sh
# test_headers.sh INCLUDE_DIR [CC [CXX]]  every public header compiles alone, as C11 and as C++17, warnings being errors.
set -eu
include=${1:?usage: test_headers.sh INCLUDE_DIR [CC [CXX]]}
cc=${2:-cc}
cxx=${3:-c++}
flags="-Wall -Wextra -Wpedantic -Werror -fsyntax-only -I$include"
bad=0
count=0

try() { # language standard compiler text
    if ! printf '%s\n' "$4" | "$3" -x "$1" -std="$2" $flags -; then
        echo "FAIL $2: $4"
        bad=$((bad + 1))
    fi
    count=$((count + 1))
}

command -v "$cc" >/dev/null || { echo "no C compiler: $cc"; exit 1; }
have_cxx=1
command -v "$cxx" >/dev/null || { have_cxx=0; echo "no C++ compiler ($cxx): C++17 is not tested"; }

all=
for header in "$include"/soa/*.h; do
    [ -f "$header" ] || { echo "no headers in $include/soa"; exit 1; }
    line="#include <soa/$(basename "$header")>"
    twice="$line
$line
int main(void);"
    all="$line
$all"
    try c c11 "$cc" "$twice"
    if [ $have_cxx = 1 ]; then try c++ c++17 "$cxx" "$twice"; fi
done
all="$all
int main(void);"
try c c11 "$cc" "$all"
if [ $have_cxx = 1 ]; then try c++ c++17 "$cxx" "$all"; fi

echo "$count compilations, $bad failed"
[ $bad = 0 ]
