#!/usr/bin/env bash
# lint.sh [BUILD]  runs every check of how the code is written, all of them also after one has failed; BUILD: as tidy.sh.
set -uo pipefail
cd "$(dirname "$0")/.."
failed=()
check() { # name, command...
    local name=$1
    shift
    echo "--- $name"
    "$@" || failed+=("$name")
}
check layout scripts/format.sh --check
check clang-tidy scripts/tidy.sh "${1:-build}"
check includes scripts/check-includes.py
check interface scripts/check-interface.py --fail
check surface scripts/surface.py --fail
if [ -d web/node_modules ]; then check TypeScript npm --prefix web run --silent lint; fi
[ ${#failed[@]} = 0 ] || { echo "failed: ${failed[*]}" >&2; exit 1; }
