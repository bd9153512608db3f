#!/usr/bin/env bash
# test_check_includes.sh [TREE]  tests scripts/check-includes.py: a small tree is accepted, each kind of fault planted in a
# copy of it is reported, and so is an upward include planted in a copy of TREE, which itself has none.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
check=$here/../../scripts/check-includes.py
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0

accepted() { # what, tree
    if ! "$check" "$2" >"$work/out"; then
        echo "FAILED: $1: should be accepted, but:"
        cat "$work/out"
        failures=$((failures + 1))
    fi
}

refused() { # what, tree, expected line
    if "$check" "$2" >"$work/out"; then
        echo "FAILED: $1: should be refused"
        failures=$((failures + 1))
    elif ! grep -qF -- "$3" "$work/out"; then
        echo "FAILED: $1: expected the line '$3', found:"
        cat "$work/out"
        failures=$((failures + 1))
    fi
}

small_tree() { # folder
    rm -rf "$1"
    mkdir -p "$1"/{docs,include/soa,src/base,src/model,src/world,src/io,apps/tool,apps/other,tests}
    cat >"$1/docs/rooms.txt" <<'ROOMS'
# a comment
base:               # small things
model: base         # machines
io: base model      # files
world: base model   # time
apps/tool: base
tests: model
ROOMS
    touch "$1/include/soa/world.h" "$1/src/base/base.h" "$1/src/world/world.h" "$1/src/io/io.h" "$1/apps/other/other.h"
    echo '#include "../base/base.h"' >"$1/src/model/model.h"
    printf '%s\n' '#include <stdio.h>' '#include "soa/world.h"' '/* #include "../world/world.h" */' \
        '#include "model.h"' >"$1/src/model/model.c"
    echo '#include "../model/model.h"' >"$1/src/world/world.c"
    echo '#include "../../src/base/base.h"' >"$1/apps/tool/main.c"
    echo '#include "model/model.h"' >"$1/tests/test_model.c"
}

small=$work/small
small_tree "$small"
accepted "a small tree" "$small"

small_tree "$small"
echo '#include "../world/world.h"' >>"$small/src/model/model.c"
refused "upward include" "$small" "src/model/model.c:5: includes src/world/world.h: room model may not use room world"

small_tree "$small"
echo '#include "../io/io.h"' >>"$small/src/world/world.c"
refused "sideways include" "$small" "src/world/world.c:2: includes src/io/io.h: room world may not use room io"

small_tree "$small"
mkdir "$small/src/extra" && touch "$small/src/extra/extra.c"
refused "room without a line" "$small" "src/extra: room extra has no line in docs/rooms.txt"

small_tree "$small"
rm -r "$small/src/io"
refused "line without a room" "$small" "room io has no folder src/io"

small_tree "$small"
sed -i 's/^base:/base: world/' "$small/docs/rooms.txt"
refused "permission to go up" "$small" "docs/rooms.txt:2: room base may not use room world"

small_tree "$small"
echo '#include "one.h"' >"$small/src/base/two.h"
echo '#include "two.h"' >"$small/src/base/one.h"
refused "circle of files" "$small" "in a circle: src/base/one.h -> src/base/two.h -> src/base/one.h"

small_tree "$small"
echo '#include "../../src/model/model.h"' >>"$small/apps/tool/main.c"
refused "program that uses a private header" "$small" "room apps/tool may not use room model"

small_tree "$small"
echo '#include "../other/other.h"' >>"$small/apps/tool/main.c"
refused "program that uses another" "$small" "room apps/tool may not use room apps/other"

small_tree "$small"
echo '#include "world/world.h"' >>"$small/tests/test_model.c"
refused "test that uses a private header" "$small" "room tests may not use room world"

small_tree "$small"
echo 'soa/world.h: world' >>"$small/docs/rooms.txt"
refused "public header of a higher room" "$small" "src/model/model.c:2: includes include/soa/world.h"

if [ $# -gt 0 ]; then
    accepted "$1" "$1"
    mkdir "$work/copy"
    tar -C "$1" -cf - docs/rooms.txt include src apps tests | tar -C "$work/copy" -xf -
    bottom=$(sed -n 's/^\([a-z]*\):.*/\1/p' "$1/docs/rooms.txt" | head -n 1)
    top=$(sed -n 's/^\([a-z]*\):.*/\1/p' "$1/docs/rooms.txt" | grep -vx tests | tail -n 1)
    echo >"$work/copy/src/$top/planted.h"
    echo "#include \"../$top/planted.h\"" >"$work/copy/src/$bottom/planted.c"
    refused "upward include planted in $1" "$work/copy" \
        "src/$bottom/planted.c:1: includes src/$top/planted.h: room $bottom may not use room $top"
fi
[ "$failures" = 0 ] && echo "ok"
