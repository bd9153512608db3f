#!/usr/bin/env bash
# test_served.sh SOA  soa view and its page together in a real browser: web/test/served.test.mjs.  Pictures stay in
# SOA_BUILD_DIR/page-pictures/served.
set -u
soa=$(cd "$(dirname "${1:?usage: test_served.sh SOA}")" && pwd)/$(basename "$1")
build=${SOA_BUILD_DIR:-$(dirname "$soa")}
skip() { echo "SKIPPED: $1"; exit 77; }
[ -z "${SOA_SANITIZE:-}" ] || skip "test_view.py runs with sanitizers"
command -v node >/dev/null || skip "node is not installed"
"$soa" view no-such-thing 2>&1 | grep -q "without libwebsockets" && skip "this program was built without libwebsockets"
[ -s "$build/web/view.html" ] || skip "the page was not built (node or npm missing, or SOA_WEB=OFF)"
work=$build/web/work
[ -d "$work/node_modules/playwright-core" ] || skip "the npm packages of web/ are not there"
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
"$soa" sim billiard -q -o "$dir/billiard.soalog" || exit 1
cd "$work" && node test/served.test.mjs "$soa" "$build/page-pictures/served" "$dir/billiard.soalog"
