#!/usr/bin/env bash
# op-picture.sh SOA [OUT]  makes the picture of docs/operators.md: parts of the page of FD3, with
# headless Chromium and ImageMagick.
set -euo pipefail
soa=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
out=$(realpath -m "${2:-docs/images/op-page.png}")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
"$soa" op two-puma FD3 --explain --html page.html
shot() { # NAME, FROM this line, UP TO that line
    awk -v from="$2" -v to="$3" '/<body>/ { print; next } index($0, from) { on = 1 } on && index($0, to) { exit } on || !body; /<\/style>/ { body = 1 }' page.html >"$1.html"
    chromium --headless --no-sandbox --hide-scrollbars --window-size=1200,2400 --screenshot="$1.png" "file://$work/$1.html" >/dev/null 2>&1
    convert "$1.png" -trim +repage -bordercolor '#fdfdfb' -border 24x12 "$1.png"
}
shot sweeps '<h2 id="sweeps"' 'data-sweep="3"'
shot factors '<h2 id="factors"' 'data-factor="inv(D)"'
shot filter '<h2 id="filter"' '<h3>Walk'
convert sweeps.png factors.png filter.png -background '#fdfdfb' -append -resize 75% +dither -colors 64 -strip "png8:$out"
