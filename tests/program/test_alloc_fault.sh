#!/usr/bin/env bash
# test_alloc_fault.sh SOA  some hundred failed allocations in all commands; scripts/alloc-fault-campaign.py tries them all
# (make alloc-fault-campaign).
. "$(dirname "$0")/../support/lib.sh"
[ -z "${SOA_SANITIZE:-}" ] || { echo "SKIPPED: a preloaded library and the sanitizers' own do not go together"; exit 77; }
[ "$(uname -s)" = Linux ] || { echo "SKIPPED: the library that fails allocations is for Linux"; exit 77; }
command -v python3 >/dev/null || { echo "SKIPPED: python3 is not installed"; exit 77; }
[ -n "$(getconf GNU_LIBC_VERSION 2>/dev/null)" ] || { echo "SKIPPED: the library that fails allocations is for glibc"; exit 77; }
if python3 "$here/../scripts/alloc-fault-campaign.py" "$soa" --most 600 --random 40 --every "${SOA_FAULTS_EVERY:-29}" \
    --seed "${SOA_SEED:-1}" >campaign 2>&1; then ok; else bad "faults: $(cat campaign)"; fi
# More of the commands that read records: each part of a report or plot could be missing without a word.
reading() { # COMMAND MOST EVERY
    if python3 "$here/../scripts/alloc-fault-campaign.py" "$soa" --only "$1" --most "$2" --every "$3" --random 0 \
        >reading 2>&1; then ok; else bad "faults of $1: $(cat reading)"; fi
}
reading report 2000 6
reading "plot png" 60 1
check "faults were tried" test "$(sed -n 's/^\([0-9]*\) failed allocations,.*/\1/p' campaign)" -ge 200
tail -1 campaign
finish
