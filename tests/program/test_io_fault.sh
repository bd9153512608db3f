#!/usr/bin/env bash
# test_io_fault.sh SOA  a few dozen I/O faults in all commands that write; scripts/io-fault-campaign.sh tries them all
# (make io-fault-campaign).
. "$(dirname "$0")/../support/lib.sh"
[ -z "${SOA_SANITIZE:-}" ] || { echo "SKIPPED: a preloaded library and the sanitizers' own do not go together"; exit 77; }
[ "$(uname -s)" = Linux ] || { echo "SKIPPED: the library that fails calls is for Linux"; exit 77; }
if "$here/../scripts/io-fault-campaign.sh" "$soa" "${SOA_FAULTS_EVERY:-25}" >campaign 2>&1; then ok; else bad "faults: $(cat campaign)"; fi
check "faults were tried" test "$(sed -n 's/^\([0-9]*\) faults,.*/\1/p' campaign)" -ge 30
tail -1 campaign
finish
