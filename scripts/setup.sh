#!/usr/bin/env bash
# setup.sh [--check] PURPOSE...  installs with apt what is missing for a purpose, and only that.
#   build    compiler, cmake, and the libraries of the soa program
#   test     what the tests need in addition: clang, cmocka, LAPACKE, MuJoCo, Open MPI, Python,
#            Chromium, and everything for the playground and the embedded stage
#   playground  libsoa as WebAssembly in a page: emscripten, node, npm
#   embedded    libsoa for Cortex-M: cross compiler, newlib, QEMU
#   python   the Python package
#   bench    the peers of the benchmark, and what Pinocchio and MuJoCo of PyPI need beside them
#   fuzz     libFuzzer
#   format   clang-format
#   lint     clang-format, clang-tidy, Python
#   api      doxygen, Python
# With --check nothing is installed: missing packages are listed, and the exit status is then 1.
set -euo pipefail

# A package, and the command, header (of C, or of python3) or compiler run-time that shows that it is
# present even if it was not installed by apt.
build='
gcc             command:cc
libc6-dev       header:stdio.h
cmake           command:cmake
make            command:make
pkg-config      command:pkg-config
libxml2-dev     header:libxml2/libxml/parser.h
libjansson-dev  header:jansson.h
libsundials-dev header:arkode/arkode_arkstep.h
libfyaml-dev    header:libfyaml.h
libhdf5-dev     header:hdf5/serial/hdf5.h
libqhull-dev    header:libqhull_r/libqhull_r.h
libassimp-dev   header:assimp/cimport.h
libwebsockets-dev header:libwebsockets.h
nodejs          command:node
npm             command:npm
libcairo2-dev   header:cairo/cairo.h
'
test='
g++             command:g++
clang           command:clang
libomp-dev      package
libcmocka-dev   header:cmocka.h
liblapacke-dev  header:lapacke.h
libmujoco-dev   header:mujoco/mujoco.h
libopenmpi-dev  command:mpicc
openmpi-bin     command:mpirun
python3         command:python3
chromium        command:chromium
'
playground='
emscripten      command:emcc
nodejs          command:node
npm             command:npm
'
embedded='
gcc-arm-none-eabi       command:arm-none-eabi-gcc
libnewlib-arm-none-eabi header:newlib/newlib.h
qemu-system-arm         command:qemu-system-arm
'
test+=$playground$embedded
bench='
g++                  command:g++
binutils             command:objdump
libmujoco-dev        header:mujoco/mujoco.h
libbullet-dev        header:bullet/btBulletDynamicsCommon.h
libbullet-extras-dev package
liborocos-kdl-dev    header:kdl/chain.hpp
libsimbody-dev       header:simbody/Simbody.h
libdart-all-dev      header:dart/dart.hpp
libfcl-dev           header:fcl/fcl.h
libeigen3-dev        header:eigen3/Eigen/Core
clang                command:clang++
python3-venv         package
'
python='
python3       command:python3
python3-venv  package
python3-dev   python:Python.h
liblzma-dev   header:lzma.h
zlib1g-dev    header:zlib.h
binutils      command:objcopy
'
test+=$python
fuzz='
clang           command:clang
libclang-rt-dev runtime:fuzzer
'
format='
clang-format command:clang-format
'
lint='
clang-format command:clang-format
clang-tidy   command:clang-tidy
python3      command:python3
'
api='
doxygen command:doxygen
python3 command:python3
'

found() { # package probe
    local what=${2#*:}
    if command -v dpkg-query >/dev/null; then
        case " $(dpkg-query -W -f '${db:Status-Status} ' "$1" 2>/dev/null)" in *" installed "*) return 0 ;; esac
    fi
    case $2 in
    command:*) command -v "$what" >/dev/null ;;
    runtime:*) [ -n "$(find "$(clang -print-resource-dir 2>/dev/null)" -name "libclang_rt.$what*.a" 2>/dev/null)" ] ;;
    header:*) [ -e "/usr/include/$what" ] || [ -e "/usr/local/include/$what" ] ;;
    python:*) [ -e "$(python3 -c 'import sysconfig; print(sysconfig.get_path("include"))' 2>/dev/null)/$what" ] ;;
    *) return 1 ;;
    esac
}

check=
[ "${1:-}" != --check ] || { check=1; shift; }
missing=()
for purpose in "$@"; do
    case $purpose in
    build | test | playground | embedded | python | bench | fuzz | format | lint | api) ;;
    *) echo "setup.sh: unknown purpose '$purpose'" >&2; exit 2 ;;
    esac
    while read -r package probe; do
        [ -z "$package" ] || found "$package" "$probe" || missing+=("$package")
    done <<<"${!purpose}"
done
[ ${#missing[@]} -gt 0 ] || exit 0

if [ -n "$check" ]; then
    echo "missing packages: ${missing[*]}" >&2
    exit 1
fi
if ! command -v apt-get >/dev/null; then
    echo "These Debian packages, or what corresponds to them here, are missing: ${missing[*]}" >&2
    echo "There is no apt-get to install them with; please install them and try again." >&2
    exit 1
fi
as_root=
if [ "$(id -u)" != 0 ]; then
    command -v sudo >/dev/null || { echo "Missing: ${missing[*]}. Install them as root: apt-get install ${missing[*]}" >&2; exit 1; }
    as_root='sudo'
fi
echo "installing through apt: ${missing[*]}"
log=$(mktemp)
trap 'rm -f "$log"' EXIT
apt() { $as_root env DEBIAN_FRONTEND=noninteractive apt-get -q -y -o DPkg::Lock::Timeout=300 "$@" >>"$log" 2>&1; }
if ! { apt update && apt install --no-install-recommends "${missing[@]}"; }; then
    tail -n 20 "$log" >&2
    echo "apt could not install: ${missing[*]}" >&2
    exit 1
fi
