#!/usr/bin/env python3
"""test_vectors.py PROGRAM  `soa info` and `soa compute` against reference vectors of an independent library.

The vectors are $SOA_REFERENCE_DIR/vectors/NAME.json for $SOA_REFERENCE_DIR/models/*.urdf; README.md beside them gives
their conventions.  They differ from ours in three ways, and this file translates:
  six-vectors      theirs linear part first, ours angular part first (the free joint's part of v, a and tau as well)
  quaternions      theirs x, y, z, w, ours w, x, y, z
  coordinates      in another order: joints are matched by name, the free joint by its type

Every quantity of every sample must agree to 1e-10 relative: max|difference| / max(max|reference|, 1e-3).
"""
import glob
import json
import math
import os
import subprocess
import sys

TOLERANCE = 1e-10
SKIPPED = 77


def flat(rows):
    return [x for row in rows for x in row]


def swap(six):
    """One part of a six-vector (or of six rows) first, then the other."""
    return list(six[3:6]) + list(six[0:3])


class Coordinates:
    """Takes the reference's coordinates to ours and back."""

    def __init__(self, joints, info):
        self.nq, self.nv = info["nq"], info["nv"]
        by_name = {joint["name"]: joint for joint in info["joints"]}
        free = [joint for joint in info["joints"] if joint["type"] == "free"]
        self.pairs = []  # their joint, ours
        self.v = {}  # their index: ours
        self.q = {}
        for theirs in joints:
            floating = theirs["type"] == "floating"
            ours = free[0] if floating else by_name[theirs["name"]]
            self.pairs.append((theirs, ours))
            order_v = [3, 4, 5, 0, 1, 2] if floating else range(ours["nv"])
            order_q = [0, 1, 2, 4, 5, 6, 3] if floating else range(ours["nq"])
            if len(order_v) != theirs["nv"] or len(order_q) != theirs["nq_plain"]:
                raise ValueError("joint %s has other sizes" % theirs["name"])
            for k, own in enumerate(order_v):
                self.v[theirs["idx_v"] + k] = ours["v_index"] + own
            for k, own in enumerate(order_q):
                self.q[theirs["idx_q_plain"] + k] = ours["q_index"] + own
        if sorted(self.v.values()) != list(range(self.nv)) or sorted(self.q.values()) != list(range(self.nq)):
            raise ValueError("the joints of the two do not match")

    def ours(self, theirs, index):
        result = [0.0] * len(index)
        for k, own in index.items():
            result[own] = theirs[k]
        return result

    def vector(self, ours):
        return [ours[self.v[k]] for k in range(self.nv)]

    def columns(self, rows):
        return flat(self.vector(row) for row in rows)

    def square(self, rows):
        return self.columns(rows[self.v[k]] for k in range(self.nv))


class Worst:
    def __init__(self):
        self.errors = {}
        self.count = 0

    def compare(self, what, ours, reference):
        scale = max([abs(x) for x in reference] + [1e-3])
        whole = len(ours) == len(reference) and all(math.isfinite(x) for x in ours)
        error = max((abs(a - b) for a, b in zip(ours, reference)), default=0.0) / scale if whole else math.inf
        self.errors[what] = max(self.errors.get(what, 0.0), error)
        self.count += 1


def ask(command, lines=""):
    done = subprocess.run(command, input=lines, capture_output=True, text=True)
    if done.returncode != 0:
        raise ValueError("%s: exit %d: %s%s" % (" ".join(command[:2]), done.returncode, done.stderr[:300], done.stdout[:300]))
    return done.stdout


def compare_file(program, models, path):
    with open(path) as file:
        vectors = json.load(file)
    model = os.path.join(models, os.path.basename(vectors["urdf"]))
    options = ["--ideal"] + (["--floating"] if vectors["floating"] else [])
    info = json.loads(ask([program, "info", model, "--json"] + options))
    at = Coordinates(vectors["joints"], info)
    last = vectors["last_body"]
    functions = ("rnea,bias,gravity,aba,mass,mass_inv,pose,jacobian:%s,jdot_v:%s,energy,com,momentum,"
                 "daba_dq,daba_dv,drnea_dq,drnea_dv" % (last, last))
    gravity = ",".join(repr(g) for g in vectors.get("gravity", [0, 0, -9.81]))

    lines = []
    for sample in vectors["samples"]:
        state = {key: at.ours(sample[key], at.v) for key in ("v", "a", "tau")}
        state["q"] = at.ours(sample["q_plain"], at.q)
        lines.append(json.dumps(state))
        push = sample["fext"]
        state["fext"] = [{"link": push["body"], "frame": "world", "wrench": push["moment_world"] + push["force_world"]}]
        lines.append(json.dumps(state))
    command = [program, "compute", model, "--gravity", gravity, "--fn", functions] + options
    answers = [json.loads(line) for line in ask(command, "\n".join(lines) + "\n").splitlines()]
    if len(answers) != len(lines):
        raise ValueError("%d answers to %d lines" % (len(answers), len(lines)))

    worst = Worst()
    for theirs, ours in at.pairs:
        xx, yy, zz, xy, xz, yz = ours["inertia"]
        worst.compare("body", [ours["mass"]] + ours["com"] + [xx, xy, xz, xy, yy, yz, xz, yz, zz],
                      [theirs["mass"]] + theirs["com"] + theirs["inertia_com"])
    for n, sample in enumerate(vectors["samples"]):
        free, pushed = answers[2 * n], answers[2 * n + 1]
        worst.compare("rnea", at.vector(free["tau"]), sample["rnea"])
        worst.compare("rnea_fext", at.vector(pushed["tau"]), sample["rnea_fext"])
        worst.compare("aba", at.vector(free["qdd"]), sample["aba"])
        worst.compare("aba_fext", at.vector(pushed["qdd"]), sample["aba_fext"])
        worst.compare("bias", at.vector(free["bias"]), sample["nle"])
        worst.compare("gravity", at.vector(free["gravity"]), sample["gravity_torque"])
        worst.compare("mass", at.square(free["mass"]), flat(sample["M"]))
        worst.compare("mass_inv", at.square(free["mass_inv"]), flat(sample["Minv"]))
        for joint, pose in zip(vectors["joints"], sample["poses"]):
            ours = free["pose"][joint["child_link"]]
            worst.compare("pose", ours["R"] + ours["p"], pose["R"] + pose["p"])
        rows = swap(free["jacobian"][last])
        worst.compare("jacobian", at.columns(rows), flat(sample["J_last"]))
        speed = [sum(x * y for x, y in zip(at.vector(row), sample["v"])) for row in rows]
        worst.compare("J v", speed, sample["vel_last"])
        worst.compare("jdot_v", swap(free["jdot_v"][last]), sample["Jdotv_last"])
        worst.compare("kinetic", [free["kinetic"]], [sample["kinetic_energy"]])
        worst.compare("potential", [free["potential"]], [sample["potential_energy"]])
        worst.compare("total mass", [info["mass"]], [sample["mass"]])
        worst.compare("com", free["com"], sample["com"])
        worst.compare("momentum", swap(free["momentum"]), sample["centroidal_momentum"])
        for name in ("daba_dq", "daba_dv", "drnea_dq", "drnea_dv"):
            worst.compare(name, at.square(free[name]), flat(sample[name]))
    return info, worst


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: test_vectors.py PROGRAM")
    reference = os.environ.get("SOA_REFERENCE_DIR", "")
    if not reference:
        print("SKIPPED: SOA_REFERENCE_DIR is not set, so there are no reference vectors to compare with")
        sys.exit(SKIPPED)
    paths = sorted(glob.glob(os.path.join(reference, "vectors", "*.json")))
    paths = [path for path in paths if not os.path.basename(path).startswith("closed_")]
    if not paths:
        sys.exit("no vectors in %s/vectors" % reference)
    bad = 0
    for path in paths:
        name = os.path.splitext(os.path.basename(path))[0]
        try:
            info, worst = compare_file(sys.argv[1], os.path.join(reference, "models"), path)
        except (ValueError, KeyError, OSError) as trouble:
            print("FAIL %-20s %s: %s" % (name, type(trouble).__name__, trouble))
            bad += 1
            continue
        wrong = ["%s %.1e" % item for item in worst.errors.items() if not item[1] <= TOLERANCE]
        first = max(worst.errors, key=worst.errors.get)
        print("%-4s %-20s nv %2d  %5d comparisons of %d quantities, worst %.1e (%s)%s" % (
            "FAIL" if wrong else "ok", name, info["nv"], worst.count, len(worst.errors), worst.errors[first], first,
            "; not within %.0e: %s" % (TOLERANCE, ", ".join(wrong)) if wrong else ""))
        bad += bool(wrong)
    print("%d of %d files agree" % (len(paths) - bad, len(paths)))
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
