#!/usr/bin/env bash
# peers.sh  Pinocchio and MuJoCo from PyPI (tests/python/peers.txt: versions and hashes) into the virtual
# environment build/peers, and into the same environment the wheel of build/python-wheels if there is one.
# Where they cannot be had it says so, and the status is 0: the bench goes on without them.
set -euo pipefail
cd "$(dirname "$0")/.."
python=${PYTHON:-python3}
peers=build/peers
log=build/peers.log
mkdir -p build
: >"$log"

skip() { # REASON
    tail -n 2 "$log" >&2
    echo "SKIPPED: Pinocchio and MuJoCo of PyPI: $1 (all of it: $log)"
    exit 0
}

[ -x "$peers/bin/pip" ] || "$python" -m venv "$peers" >>"$log" 2>&1 || skip "no virtual environment: install python3-venv"
"$peers/bin/pip" install -q --disable-pip-version-check --require-hashes -r tests/python/peers.txt >>"$log" 2>&1 ||
    skip "pip cannot fetch them here"
wheel=$(find build/python-wheels -name '*.whl' 2>/dev/null | head -n 1)
if [ -n "$wheel" ]; then
    "$peers/bin/pip" install -q --disable-pip-version-check --no-deps --force-reinstall "$wheel" >>"$log" 2>&1 ||
        { tail -n 5 "$log" >&2; echo "the wheel $wheel could not be installed in $peers" >&2; exit 1; }
fi
