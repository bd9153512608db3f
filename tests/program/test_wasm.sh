#!/usr/bin/env bash
# test_wasm.sh PROGRAM  libsoa as WebAssembly, under node: reference vectors, operator expressions as the native program
# gives them, damaged models, motion (tests/program/wasm.mjs).
set -eu
program=$(cd "$(dirname "${1:?usage: test_wasm.sh PROGRAM}")" && pwd)/$(basename "$1")
module=${SOA_BUILD_DIR:-$(dirname "$program")}/wasm/playground.js
command -v emcc >/dev/null || { echo "SKIPPED: emcc is not installed"; exit 77; }
command -v node >/dev/null || { echo "SKIPPED: node is not installed"; exit 77; }
[ -s "$module" ] || { echo "SKIPPED: the playground was not built here"; exit 77; }
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
node "$(dirname "$0")/wasm.mjs" "$module" "$program" "$directory"
