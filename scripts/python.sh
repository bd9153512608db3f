#!/usr/bin/env bash
# python.sh  the Python package: a wheel in build/python-wheels, made in one virtual environment
# (build/python-tools) and installed into another, fresh one (build/python), with what its tests need.
#
# The kernels of build/libsoa.a are used where that build is there: they take minutes to compile.
# Exit status 77: pip cannot fetch packages here.
set -euo pipefail
cd "$(dirname "$0")/.."
python=${PYTHON:-python3}
tools=build/python-tools
mkdir -p build
log=build/python.log
: >"$log"

stop() { # MESSAGE STATUS
    tail -n 25 "$log" >&2
    echo "$1 (all of it: $log)" >&2
    exit "${2:-1}"
}

if ! "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))'; then
    echo "SKIPPED: $($python --version) is too old: the Python package needs 3.11 or later"
    exit 77
fi
[ -x "$tools/bin/pip" ] || "$python" -m venv "$tools" >>"$log" 2>&1 || stop "no virtual environment: install python3-venv"
if ! "$tools/bin/pip" install -q 'scikit-build-core>=0.10' numpy >>"$log" 2>&1; then
    tail -n 3 "$log"
    echo "SKIPPED: pip cannot fetch packages here"
    exit 77
fi
prebuilt=()
if [ -s build/libsoa.a ]; then prebuilt=(-C "cmake.define.SOA_PREBUILT=$PWD/build"); fi
if [ -s build/web/view.html ]; then prebuilt+=(-C "cmake.define.SOA_WEB_DIR=$PWD/build/web"); fi
rm -rf build/python-wheels
"$tools/bin/pip" wheel -v --no-build-isolation --no-deps -w build/python-wheels "${prebuilt[@]}" . >>"$log" 2>&1 ||
    stop "the wheel could not be built"
rm -rf build/python
"$python" -m venv build/python >>"$log" 2>&1
build/python/bin/pip install -q build/python-wheels/*.whl >>"$log" 2>&1 || stop "the wheel could not be installed"
build/python/bin/pip install -q -r tests/python/tools.txt >>"$log" 2>&1 || stop "the tools of the tests could not be installed"
wheel=$(echo build/python-wheels/*.whl)
echo "$wheel, $(($(stat -c %s "$wheel") / 1000)) kB, installed in build/python; start: build/python/bin/python"
