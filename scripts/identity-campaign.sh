#!/usr/bin/env bash
# identity-campaign.sh SOA TRIES [SEED]  proves every identity of `soa identity --list` and tries each on machines of all
# families at random states, TRIES times in all.  Exit status 1: one is not proved, refuted or tried nowhere.
set -euo pipefail
soa=$1 tries=${2:-10000} seed=${3:-$((RANDOM * 32768 % 900000000 + RANDOM + 1))}
count=$("$soa" identity --list | wc -l)
each=$(((tries + count - 1) / count))
out=$(mktemp)
trap 'rm -f "$out"' EXIT
code=0
"$soa" identity --list --json --trials "$each" --seed "$seed" --all-models >"$out" || code=$?
python3 - "$out" "$count" "$seed" "$code" <<'PY'
import json, sys
path, count, seed, code = sys.argv[1], int(sys.argv[2]), sys.argv[3], int(sys.argv[4])
lines = [json.loads(line) for line in open(path)]
names, answers = lines[0::2], lines[1::2]
bad = [(n["name"], a) for n, a in zip(names, answers) if not (a["true"] is True and a["how"] == "proved")]
for name, answer in bad:
    print(f"{name}: {answer}")
tried, skipped = sum(a["trials"] for a in answers), sum(a["skipped"] for a in answers)
worst = max(answers, key=lambda a: a["residual"] or 0)
print(f"seed {seed}: {len(answers)} of {count} identities proved and tried, {tried} trials, {skipped} skipped, "
      f"{len(bad)} refuted or unproved, largest residual {worst['residual']:.1e} ({names[answers.index(worst)]['name']})")
sys.exit(bool(bad) or len(answers) != count or code != 0)
PY
