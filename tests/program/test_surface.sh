#!/usr/bin/env bash
# test_surface.sh  tests scripts/surface.py on a file whose findings were counted by hand: each is marked on its line.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
surface=$here/../../scripts/surface.py
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/src"
cat >"$work/src/sample.c" <<'SAMPLE'
#include <stdio.h>
enum colour { RED, GREEN, BLUE };
struct pair { int a, b; };
static const int table[] = {1, 2, (3), RED};
#define SWAP(a, b) do { int t = a; a = b, b = t; } while (0) /* @commas */
#define FIELDS .x = 1, .y = 2
#define NAMES(X) X(one, "1") X(two, "2")
int f(int a, int b), g;
typedef struct point { int x, y; } point;
static int add(int a, int b) {
    int x = a, y = b;
    point p = {1, 2}, *r = &p;
    unsigned long n = 0, m = 1;
    x = a, y = b; /* @commas */
    f(x, y), f(y, x); /* @commas */
    "not, a, comma", 'x'; /* a = 1, b = 2; is a comment.  @commas */
    for (int i = 0, j = 1; i < j; ++i, --j) x += i, y += j; /* @commas */
    if (x = 1, y) return x; /* @commas */
    if (x) return x = 2, y; /* @commas */
    while ((a = f(1, 2), a) > 0) --a; /* @commas */
    else_label:
    x++, y--; /* @commas */
    *r = (point){a, b};
    f((int)a, sizeof(point));
    (void)x, (void)y; /* @commas */
    return a ? x : y;
}
static int pick(int a, int b) __attribute__((cold, unused));
static int pick(int a, int b) {
    int x = a ? 1 : b ? 2 : 3; /* @nested-ternaries @ternary-lines */
    int y = f(a ? 1 : 2, b ? 1 : 2); /* @ternary-lines */
    int z = a ? (b ? 1 : 2) : 3; /* @nested-ternaries @ternary-lines */
    x = (a ? b : 1) ? 2 : 3; /* @nested-ternaries @ternary-lines */
    z = a ? 1
          : b ? 2 /* @nested-ternaries */
              : 3;
    y = (a ? 1 : 2) + (b ? 3 : 4); /* @ternary-lines */
    x = a ? f(b, b ? 1 : 2) : 0; /* @nested-ternaries @ternary-lines */
    const char *text = "a ? b : c ? d : e";
    switch (a) {
    case 1: x = 1, y = 2; break; /* @commas */
    default: x = a ? 1 : 2;
    }
    { int inner = 1, other = 2; (void)inner; (void)other; }
    return x + y + z + !text; /* this line is made longer than a hundred columns by its comment @long-lines */
}
#if 1
static int branch(int a) {
#else
static int branch(long a) {
#endif
    return a;
}
SAMPLE
{
    echo "static int long_function(int a) { /* @long-functions */"
    for _ in $(seq 99); do echo "    ++a;"; done
    echo "}"
    echo "static int just_not_long(int a) {"
    for _ in $(seq 98); do echo "    ++a;"; done
    echo "}"
} >>"$work/src/sample.c"

failures=0
for kind in commas ternary-lines nested-ternaries long-lines long-functions; do
    "$surface" --tree "$work" --list "$kind" | cut -d: -f2 | sort -n >"$work/found"
    grep -n "@$kind" "$work/src/sample.c" | cut -d: -f1 | sort -n >"$work/expected"
    if ! diff "$work/expected" "$work/found" >"$work/difference"; then
        echo "FAILED: $kind: lines expected (<) and found (>):"
        cat "$work/difference"
        failures=$((failures + 1))
    fi
done
"$surface" --tree "$work" | grep "1 of 5" >/dev/null || { echo "FAILED: five functions, one of them long"; failures=$((failures + 1)); }
if "$surface" --tree "$work" --fail >/dev/null 2>&1; then
    echo "FAILED: --fail accepts the sample"
    failures=$((failures + 1))
fi
[ "$failures" = 0 ] && echo "ok"
