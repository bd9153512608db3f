#!/usr/bin/env python3
"""embedded_digits.py REFERENCE FILE...  compares lines "name[index] value" of examples/embedded/arm.c.

Double values must agree to 1e-12 and float values (float_...) to 5e-5, relative to the larger of 1 and the value.
"""
import sys

DOUBLE_TOLERANCE = 1e-12
FLOAT_TOLERANCE = 5e-5
FEWEST_LINES = 72  # tau, qdd, mass, float_tau, float_qdd, q_after, v_after of six joints


def values(path):
    found = {}
    with open(path, encoding="ascii") as lines:
        for line in lines:
            if line.startswith("#"):
                continue
            words = line.split()
            if len(words) != 2 or words[0] in found:
                sys.exit(f"{path}: unexpected line: {line.strip()}")
            found[words[0]] = float(words[1])
    return found


def main():
    reference = values(sys.argv[1])
    if len(reference) < FEWEST_LINES:
        sys.exit(f"{sys.argv[1]}: {len(reference)} values, at least {FEWEST_LINES} expected")
    bad = 0
    for path in sys.argv[2:]:
        other = values(path)
        if other.keys() != reference.keys():
            sys.exit(f"{path}: other values than in {sys.argv[1]}")
        worst = {DOUBLE_TOLERANCE: 0.0, FLOAT_TOLERANCE: 0.0}
        for name, expected in reference.items():
            tolerance = FLOAT_TOLERANCE if name.startswith("float_") else DOUBLE_TOLERANCE
            off = abs(other[name] - expected) / max(1.0, abs(expected))
            if not off <= tolerance:  # NaN fails
                print(f"{path}: {name} is {other[name]!r}, expected {expected!r}: off by {off:.1e}")
                bad += 1
            worst[tolerance] = max(worst[tolerance], off)
        print(f"{path}: {len(other)} values, double off by at most {worst[DOUBLE_TOLERANCE]:.1e}, "
              f"float {worst[FLOAT_TOLERANCE]:.1e}")
    sys.exit(1 if bad else 0)


if len(sys.argv) < 3:
    sys.exit(__doc__)
main()
