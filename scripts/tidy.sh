#!/usr/bin/env bash
# tidy.sh [BUILD]  clang-tidy over the C files of src, models and apps that BUILD (build) compiles, by .clang-tidy.
# BUILD must hold compile_commands.json and what the build generates.
set -euo pipefail
cd "$(dirname "$0")/.."
build=${1:-build}
[ -e "$build/compile_commands.json" ] || { echo "tidy.sh: $build/compile_commands.json is missing" >&2; exit 2; }
commands=$(mktemp -d)
trap 'rm -rf "$commands"' EXIT
# Options of gcc that clang refuses (-f...) do not matter here: they are taken out of a copy of the compile commands.
mapfile -t files < <(python3 - "$build" "$commands" "$PWD" <<'LIST'
import json, pathlib, re, sys
build, commands, tree = map(pathlib.Path, sys.argv[1:])
entries = json.loads((build / "compile_commands.json").read_text())
folders = tuple(f"{tree / folder}/" for folder in ("src", "models", "apps"))
first = {e["file"]: e for e in reversed(entries) if e["file"].endswith(".c") and e["file"].startswith(folders)}
for entry in first.values():
    entry["command"] = re.sub(r" -f(?!openmp)\S+", "", entry["command"])
(commands / "compile_commands.json").write_text(json.dumps(list(first.values())))
print("\n".join(sorted(first)))
LIST
)
log=$commands/log
if ! printf '%s\0' "${files[@]}" | xargs -0 -n 4 -P "${SOA_JOBS:-$(nproc)}" \
    clang-tidy --quiet -p "$commands" --extra-arg=-Wno-unknown-warning-option \
    >"$log" 2>/dev/null; then
    grep -E '(error|warning):' "$log" | sort -u
    echo "clang-tidy: $(grep -E '(error|warning):' "$log" | sort -u | wc -l) findings in ${#files[@]} files"
    exit 1
fi
echo "clang-tidy: ${#files[@]} files, nothing found"
