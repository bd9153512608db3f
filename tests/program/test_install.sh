#!/bin/sh
# test_install.sh BUILD_DIR SOURCE_DIR  installs into an empty prefix and builds the examples outside the tree:
# by pkg-config and by find_package, shared and static.  libsoa.so may need libc and libm only, and export soa_* only (and
# soai_* for its sister libraries).
set -eu
build=${1:?usage: test_install.sh BUILD_DIR SOURCE_DIR}
source=${2:?usage: test_install.sh BUILD_DIR SOURCE_DIR}
cc=${CC:-cc}
cxx=${CXX:-c++}

if grep -q '^SOA_SANITIZE:[A-Z]*=.' "$build/CMakeCache.txt"; then
    echo "SKIPPED: built with sanitizers"
    exit 77
fi

top=$(mktemp -d)
trap 'rm -rf "$top"' EXIT INT TERM
prefix=$top/prefix
fail() { echo "FAIL: $*"; exit 1; }

cmake --install "$build" --prefix "$prefix" >"$top/install.log" 2>&1 || { cat "$top/install.log"; fail "cmake --install"; }
pc=$(find "$prefix" -name soa.pc)
[ -n "$pc" ] || fail "soa.pc is not installed"
libdir=$(dirname "$(dirname "$pc")")
for file in libsoa.so libsoa.a pkgconfig/soa-io.pc pkgconfig/soa-sim.pc; do
    [ -e "$libdir/$file" ] || fail "$file is not installed"
done
for header in "$source"/include/soa/*.h; do
    cmp -s "$header" "$prefix/include/soa/$(basename "$header")" || fail "$(basename "$header") is not installed as it is"
done

for page in README.md docs/notation.md docs/theory/aba.md docs/decisions/README.md docs/images/report.png examples/arm.urdf; do
    cmp -s "$source/$page" "$prefix/share/doc/soa/$page" || fail "$page is not installed as it is"
done

# what the shared library needs and shows
needs=$(readelf -d "$libdir/libsoa.so" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p')
for lib in $needs; do
    case $lib in
    libc.so.* | libm.so.* | ld-linux*) ;;
    *) fail "libsoa.so needs $lib" ;;
    esac
done
foreign=$(ldd "$libdir/libsoa.so" | awk '{print $1}' | grep -v -e '^linux-vdso' -e '^libc\.so' -e '^libm\.so' -e 'ld-linux' -e '^statically$' || true)
[ -z "$foreign" ] || fail "libsoa.so loads $foreign"
shown=$(nm -D --defined-only "$libdir/libsoa.so" | awk '{print $3}' | grep -v -e '^soai*_' -e '^_init$' -e '^_fini$' || true)
[ -z "$shown" ] || fail "libsoa.so exports $shown"
for lib in "$libdir"/libsoa*.so; do nm -D --defined-only "$lib" | awk '{print $3}'; done | sort -u >"$top/exported"
sed -n 's/^SOA_API .*[ *]\(soa_[a-z0-9_]*\)(.*/\1/p' "$source"/include/soa/*.h | sort -u >"$top/declared"
[ "$(wc -l <"$top/declared")" -gt 300 ] || fail "only $(wc -l <"$top/declared") functions were found in the headers"
hidden=$(comm -23 "$top/declared" "$top/exported")
[ -z "$hidden" ] || fail "declared, but in no shared library: $(echo $hidden)"
echo "libsoa.so needs: $(echo $needs)"

run() { # program: must say its line and end well
    LD_LIBRARY_PATH=$libdir "$1" >"$top/out" || { cat "$top/out"; fail "$1 ended badly"; }
    grep -q '^angle after 1 s' "$top/out" || fail "$1 said: $(cat "$top/out")"
    echo "$(basename "$1"): $(cat "$top/out")"
}
linked() { readelf -d "$1" | grep 'NEEDED.*libsoa\.so' >/dev/null; }

# pkg-config, outside the tree
mkdir "$top/user"
cp "$source"/examples/*.c "$source/examples/CMakeLists.txt" "$top/user"
cd "$top/user"
flags() { PKG_CONFIG_PATH=$libdir/pkgconfig pkg-config --define-variable=prefix="$prefix" "$@"; }
flags --exists soa || fail "pkg-config does not find soa"
version=$(sed -n 's/^#define SOA_VERSION_[MP][AI][A-Z]* \([0-9]*\)$/\1/p' "$source/include/soa/base.h" | paste -sd.)
[ "$(flags --modversion soa)" = "$version" ] ||
    fail "soa.pc has version $(flags --modversion soa)"
strict="-std=c11 -Wall -Wextra -Wpedantic -Werror"
$cc $strict pendulum.c $(flags --cflags --libs soa) -lm -o pkg-shared || fail "pkg-config, shared"
linked pkg-shared || fail "pkg-shared does not use libsoa.so"
run ./pkg-shared
$cc $strict -static pendulum.c $(flags --static --cflags --libs soa) -lm -o pkg-static || fail "pkg-config, static"
run ./pkg-static

# as C++ sees it
if command -v "$cxx" >/dev/null; then
    printf '#include <soa/soa.h>\nint main() { return soa_version()[0] == 0; }\n' >user.cpp
    $cxx -std=c++17 user.cpp $(flags --cflags --libs soa) -o pkg-cxx || fail "pkg-config, C++"
    LD_LIBRARY_PATH=$libdir ./pkg-cxx || fail "the C++ program"
fi

# find_package
cmake -S . -B made -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_C_COMPILER="$cc" >"$top/cmake.log" 2>&1 || { cat "$top/cmake.log"; fail "find_package"; }
cmake --build made >"$top/cmake.log" 2>&1 || { cat "$top/cmake.log"; fail "building with find_package"; }
linked made/pendulum || fail "pendulum does not use libsoa.so"
linked made/pendulum_static && fail "pendulum_static uses libsoa.so"
run made/pendulum
run made/pendulum_static
for example in controller floating four_bar reach world; do
    (cd made && LD_LIBRARY_PATH=$libdir ./$example >"$top/out") || { cat "$top/out"; fail "$example ended badly"; }
    echo "$example: $(cat "$top/out")"
done
echo "installed, found and used in four ways"
