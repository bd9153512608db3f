#!/usr/bin/env bash
# test_page.sh SOA  the page of web/ in a real browser: web/test/page.test.mjs with the page that this build made and, where
# the program can make them, reports of its own.  Pictures stay in SOA_BUILD_DIR/page-pictures.
set -u
soa=$(cd "$(dirname "${1:?usage: test_page.sh SOA}")" && pwd)/$(basename "$1")
build=$(cd "${SOA_BUILD_DIR:-$(dirname "$soa")}" && pwd) || exit 1
skip() { echo "SKIPPED: $1"; exit 77; }
[ -z "${SOA_SANITIZE:-}" ] || skip "the page is the same with sanitizers"
command -v node >/dev/null || skip "node is not installed"
[ -s "$build/web/view.html" ] || skip "the page was not built (node or npm missing, or SOA_WEB=OFF)"
work=$build/web/work
[ -d "$work/node_modules/playwright-core" ] || skip "the npm packages of web/ are not there"
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
pictures=$build/page-pictures
rm -rf "$pictures"
reports=()
if "$soa" report --help >/dev/null 2>&1 && "$soa" sim billiard --out "$dir/billiard.soalog" >"$dir/log" 2>&1 &&
    "$soa" report "$dir/billiard.soalog" -o "$dir/billiard.html" >>"$dir/log" 2>&1; then
    reports=("$dir/billiard.html")
fi
cd "$work" && node test/page.test.mjs "$build/web/view.html" "$pictures" "${reports[@]}"
