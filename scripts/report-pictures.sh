#!/usr/bin/env bash
# report-pictures.sh  makes the README's picture and animation of build/demo/report.html:
# docs/images/report.png, report.gif. Run it after `make demo`; needs Chromium and ImageMagick.
set -euo pipefail
cd "$(dirname "$0")/.."
[ -s build/demo/report.html ] || { echo "run make demo first" >&2; exit 1; }
frames=$(mktemp -d)
trap 'rm -rf "$frames"' EXIT
cp web/test/pictures.mjs web/test/browser.mjs build/web/work/test/
(cd build/web/work && node test/pictures.mjs "$OLDPWD/build/demo/report.html" "$frames")
convert "$frames/report.png" -strip docs/images/report.png
convert -delay 15 -loop 0 "$frames"/frame-*.png -resize 640x +dither -colors 48 -layers optimize docs/images/report.gif
ls -l docs/images/report.png docs/images/report.gif
