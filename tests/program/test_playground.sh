#!/usr/bin/env bash
# test_playground.sh PROGRAM  the playground's page in headless Chromium (web/test/playground.test.mjs).
# Pictures stay in SOA_BUILD_DIR/playground-pictures.
set -eu
program=$(cd "$(dirname "${1:?usage: test_playground.sh PROGRAM}")" && pwd)/$(basename "$1")
build=${SOA_BUILD_DIR:-$(dirname "$program")}
[ -z "${SOA_SANITIZE:-}" ] || { echo "SKIPPED: the page is the same with sanitizers"; exit 77; }
[ -s "$build/web/playground.html" ] || { echo "SKIPPED: the playground was not built here"; exit 77; }
command -v node >/dev/null || { echo "SKIPPED: node is not installed"; exit 77; }
test=$build/web/work/test/playground.test.mjs # beside the npm packages
[ -d "$build/web/work/node_modules/playwright-core" ] || { echo "SKIPPED: playwright-core is not installed"; exit 77; }
node "$test" "$build/web/playground.html" "$program" "$build/playground-pictures"
