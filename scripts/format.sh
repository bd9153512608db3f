#!/usr/bin/env bash
# format.sh [--check]  formats all C and C++ files with .clang-format, or lists the files that are
# not formatted.
set -euo pipefail
cd "$(dirname "$0")/.."
mapfile -t files < <(find include src apps tests bench examples -name '*.[ch]' -o -name '*.cpp' | sort)
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
