#!/usr/bin/env bash
# format.sh [--check]  lays out all C and C++ by .clang-format, or names the files that are not.
set -euo pipefail
cd "$(dirname "$0")/.."
mapfile -t files < <(find include src models apps tests bench examples -name '*.[ch]' -o -name '*.cpp' | sort)
if [ "${1:-}" != --check ]; then
    clang-format -i "${files[@]}"
    exit
fi
bad=0
for file in "${files[@]}"; do
    clang-format --dry-run -Werror "$file" >/dev/null 2>&1 || { echo "$file"; bad=$((bad + 1)); }
done
echo "$bad of ${#files[@]} files to be formatted"
[ "$bad" = 0 ]
