#!/bin/sh
# wasm.sh DIRECTORY [GENERATOR]  compiles libsoa and the playground's calls to WebAssembly:
# DIRECTORY/playground.js. Output of the tools is shown only if they fail.
set -eu
source=$(cd "$(dirname "$0")/.." && pwd)
directory=${1:?usage: wasm.sh DIRECTORY [GENERATOR]}
mkdir -p "$directory"
log=$directory/build.log
{
    emcmake cmake -S "$source" -B "$directory" -G "${2:-Unix Makefiles}" &&
        cmake --build "$directory" --target soa_playground -j "${SOA_JOBS:-2}"
} >"$log" 2>&1 || { cat "$log" >&2; exit 1; }
