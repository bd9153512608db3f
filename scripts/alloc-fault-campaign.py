#!/usr/bin/env python3
"""alloc-fault-campaign.py SOA [options]  one allocation fails, in every command that works on small inputs.

For each command: allocation k fails, for every k up to --most, and for --random larger ones (drawn with --seed).  A fault
may make the command fail, with a message.  It must not crash or hang, exit status 0 (or that of the run without a fault)
only with the complete output, and no temporary file is left.  The library that fails it and says who asked:
tests/fault/alloc_fault.c.  Crashes inside other libraries are counted apart, by name; those that docs/robustness.md
names are not counted as problems."""
import argparse
import collections
import concurrent.futures
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile

HANG_S = 60

# Libraries that end the program or lose data themselves when an allocation fails, whatever their caller does, and how.
# docs/robustness.md has the same list.
KNOWN = {}

URDF = """<robot name="r">
  <link name="base"><visual><geometry><mesh filename="m.obj"/></geometry></visual></link>
  <link name="arm"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>
    <collision><geometry><mesh filename="m.obj"/></geometry></collision></link>
  <joint name="j" type="revolute"><parent link="base"/><child link="arm"/><axis xyz="0 0 1"/>
    <limit lower="-1" upper="1" effort="1" velocity="1"/></joint>
</robot>
"""
MESH = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 2 3\nf 1 2 4\nf 1 3 4\nf 2 3 4\n"
SCENARIO = """name: x
duration: 0.05
recording: {rate: 100, checkpoint: 0.02}
parts:
  - {name: ground, fixed: true, body: {}}
  - {name: block, body: {mass: 1, box: [0.2, 0.2, 0.2]}, place: {xyz: [0, 0, 0.1]}}
  - {name: a, model: r.urdf}
  - {name: loop, model: four-bar, place: {xyz: [0, 3, 0]}}
shapes:
  - {name: floor, on: ground, plane: {}}
  - {name: skin, on: block, mesh: m.obj, scale: 0.1}
contacts: [{between: [skin, floor]}]
control:
  rate: 100
  phases:
    - {name: hold, actions: [{law: joint-pd, part: a, goal: {j: 0.1}, stiffness: 10, damping: 1}]}
"""
SWEEP = """name: vary
duration: 0.02
parts: [{name: a, model: arm7}]
sweep: {a.mass_scale: [0.9, 1.1]}
"""
STATES = '{}\n{"q": [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7], "fext": [{"link": "link3", "wrench": [1, 2, 3, 4, 5, 6]}]}\n'
TARGET = '{"target": {"flange": {"p": [0.3, 0.2, 0.6]}}}\n'

# name, words, output files, standard input
COMMANDS = [
    ("check URDF", "check IN/r.urdf", "", ""),
    ("check model", "check four-bar", "", ""),
    ("info", "info arm7", "", ""),
    ("info --tree", "info four-bar --tree", "", ""),
    ("compute", "compute arm7 --fn aba,rnea,mass,pose --in IN/states --out f.json", "f.json", ""),
    ("compute URDF", "compute IN/r.urdf --fn aba", "", "{}\n"),
    ("ik", "ik arm7", "", TARGET),
    ("op", "op arm7 FD1 --explain", "", "{}\n"),
    ("op --derive", "op arm7 FD1 --derive", "", "{}\n"),
    ("op --emit-c", "op arm7 FD3 --emit-c", "", ""),
    ("op --html", "op arm7 FD3 --explain --html f.html", "f.html", ""),
    ("op --derive --to", "op arm7 FD1 --derive --to FD3", "", "{}\n"),
    ("identity", "identity|(I - H psi K) H phi = H psi", "", ""),
    ("identity --list", "identity|--list", "", ""),
    ("identity false", "identity|H phi = H psi|--trials|2", "", ""),
    ("gen", "gen arm7 -o f.c --header f.h", "f.c f.h", ""),
    ("save", "save IN/r.urdf -o f.soam", "f.soam", ""),
    ("models", "models", "", ""),
    ("sim", "sim IN/x.yaml -o f.soalog --summary f.json", "f.soalog f.json", ""),
    ("sim --diagram", "sim grapple --diagram f.dot", "f.dot", ""),
    ("sweep", "sweep IN/vary.yaml --cases 2 --jobs 1 -o f.csv", "f.csv", ""),
    ("export csv", "export IN/log.soalog -o f.csv", "f.csv", ""),
    ("export events", "export IN/log.soalog --events -o f.csv", "f.csv", ""),
    ("export hdf5", "export IN/log.soalog -o f.h5", "f.h5", ""),
    ("report", "report IN/log.soalog -o f.html", "f.html", ""),
    ("plot svg", "plot IN/log.soalog q.* -o f.svg", "f.svg", ""),
    ("plot pdf", "plot IN/log.soalog q.* -o f.pdf", "f.pdf", ""),
    ("plot png", "plot IN/log.soalog q.* -o f.png", "f.png", ""),
    ("drop", "drop --model arm7 --seconds 0.05 --out .", "drop.csv drop.svg", ""),
]


def steady(data):
    """What differs from run to run is left out: times on the wall clock, dates in PDF, the folder."""
    data = re.sub(rb'("wall_s"|"real_time_factor"|"wall_time")[^,\n}]*', rb"\1", data)
    data = re.sub(rb"wall time.*", b"", data)
    data = re.sub(rb"/CreationDate \([^)]*\)|/ID \[[^\]]*\]", b"", data)
    data = re.sub(rb"[0-9.e+-]+ (ms|s|us)\b|[0-9.]+ times (real time|as fast)", b"", data)
    return re.sub(rb"/tmp/soa-alloc-[^/ ]*/\w+", b"", data)


class Campaign:
    def __init__(self, soa, directory, options):
        self.soa, self.directory, self.options = soa, directory, options
        self.library = os.path.join(directory, "alloc_fault.so")
        self.inputs = os.path.join(directory, "in")
        self.environment = dict(os.environ, LC_ALL="C", OMP_NUM_THREADS="1", LD_PRELOAD=self.library)
        self.problems = []

    def prepare(self):
        here = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
        source = os.path.join(here, "tests", "fault", "alloc_fault.c")
        compiler = os.environ.get("CC", "cc")
        subprocess.run([compiler, "-O1", "-shared", "-fPIC", "-o", self.library, source, "-ldl"], check=True)
        os.mkdir(self.inputs)
        for name, text in (("r.urdf", URDF), ("m.obj", MESH), ("x.yaml", SCENARIO), ("vary.yaml", SWEEP),
                           ("states", STATES)):
            with open(os.path.join(self.inputs, name), "w", encoding="utf-8") as file:
                file.write(text)
        log = os.path.join(self.inputs, "log.soalog")
        subprocess.run([self.soa, "sim", os.path.join(self.inputs, "x.yaml"), "-q", "-o", log], check=True)

    def run(self, command, k, folder):
        """Runs it once: exit status (-N: a signal), what it wrote, what it said, the report, what else is there."""
        _, words, outputs, said_to = command
        work = os.path.join(self.directory, folder)
        shutil.rmtree(work, ignore_errors=True)
        os.mkdir(work)
        report = os.path.join(self.directory, folder + ".report")
        if os.path.exists(report):
            os.remove(report)
        arguments = words.replace("IN/", self.inputs + "/").split("|" if "|" in words else " ")
        environment = dict(self.environment, SOA_ALLOC_FAULT=str(k), SOA_ALLOC_REPORT=report)
        try:
            done = subprocess.run([self.soa] + arguments, cwd=work, env=environment, input=said_to.encode(),
                                  capture_output=True, timeout=HANG_S, check=False)
            status, wrote, said = done.returncode, done.stdout, done.stderr
        except subprocess.TimeoutExpired:
            status, wrote, said = "hang", b"", b""
        lines = []
        if os.path.exists(report):
            with open(report, encoding="utf-8", errors="replace") as file:
                lines = file.read().splitlines()
        made, complete = sorted(os.listdir(work)), [steady(wrote)]
        for name in outputs.split():
            path = os.path.join(work, name)
            data = None
            if os.path.exists(path):
                with open(path, "rb") as file:
                    data = steady(file.read())
            complete.append(data)
        return status, complete, said, lines, made

    def judge(self, command, k, outcome, reference):
        """(problem or None, who failed, who crashed or None, whether the message speaks of memory)"""
        status, complete, said, lines, made = outcome
        failed = next((line.split()[1] for line in lines if line.startswith("failed ")), None)
        crash = next((line for line in lines if line.startswith("crashed ")), None)
        crasher = crash.split()[2] if crash else None
        problem = None
        if status == "hang":
            problem = "hangs"
        elif status < 0 or crash or status >= 126:
            crasher = crasher or failed or "?"
            problem = f"crashed (signal {crash.split()[1] if crash else status}) in {crasher}"
        elif status == reference[0]:
            if complete != reference[1]:
                problem = f"exit {status} without the complete output"
        elif status == 0:
            problem = f"exit 0 instead of {reference[0]}"
        elif b"0 errors" in complete[0]:
            problem = "says 0 errors, though it could not look"
        elif not said.strip():
            problem = f"exit {status} without a message"
        if problem is None and status != reference[0]:
            known = set(command[2].split()) | {name + ".cases" for name in command[2].split()}
            left = [name for name in made if name not in known]
            if left:
                problem = f"leaves {' '.join(left)}"
        return problem, failed, crasher, b"memory" in said.lower()

    def one(self, job):
        command, k, folder, reference = job
        outcome = self.run(command, k, folder)
        return k, self.judge(command, k, outcome, reference), outcome

    def campaign(self, command, pool):
        name = command[0]
        reference = self.run(command, 0, "ref")
        again = self.run(command, 0, "ref")
        if reference[0] not in (0, 1) or None in reference[1]:
            sys.exit(f"{name} fails without a fault: {reference[0]} {reference[2].decode()}")
        if reference[1] != again[1]:
            sys.exit(f"{name}: two runs without a fault differ")
        count = next(int(line.split()[1]) for line in reference[3] if line.startswith("count "))
        chosen = list(range(1, min(count, self.options.most) + 1))
        if count > self.options.most:
            rest = range(self.options.most + 1, count + 1)
            draw = random.Random(f"{self.options.seed} {name}")
            chosen += sorted(draw.sample(rest, min(self.options.random, len(rest))))
        chosen = chosen[self.options.seed % self.options.every::self.options.every]
        tally = collections.Counter()
        crashes, others = collections.Counter(), collections.Counter()
        for first in range(0, len(chosen), self.options.jobs):
            jobs = [(command, k, f"work{i}", reference) for i, k in enumerate(chosen[first:first + self.options.jobs])]
            for k, (problem, failed, crasher, memory), outcome in pool.map(self.one, jobs):
                tally["tried"] += 1
                tally["ours"] += failed in (None, "soa")
                tally["survived"] += outcome[0] == reference[0] and not problem
                if outcome[0] != reference[0] and not problem:
                    tally["message"] += 1
                    tally["other words"] += not memory
                if not problem:
                    if self.options.verbose and outcome[0] != reference[0] and not memory:
                        print(f"  other words: {name}, allocation {k} of {failed}: {outcome[2].decode()[:200]!r}")
                    continue
                culprit = crasher or failed or "?"
                if culprit in KNOWN and KNOWN[culprit] in problem:
                    others[culprit] += 1
                    continue
                if crasher:
                    crashes[crasher] += 1
                stack = "\n".join("    " + line for line in outcome[3] if not line.startswith("count"))
                self.problems.append(f"PROBLEM {name}, allocation {k} of {count} (asked by {failed}): {problem}: "
                                     f"{outcome[2].decode(errors='replace')[:300]!r}\n{stack}")
                print(self.problems[-1], flush=True)
        print(f"{name:16} {count:8} {tally['tried']:7} {tally['ours']:7} {tally['message']:8} {tally['survived']:8} "
              f"{tally['other words']:8}  {dict(crashes) or ''} {dict(others) or ''}", flush=True)
        return tally


def main():
    parser = argparse.ArgumentParser(usage="alloc-fault-campaign.py SOA [options]")
    parser.add_argument("soa")
    parser.add_argument("--most", type=int, default=2000, help="every allocation up to this one (2000)")
    parser.add_argument("--random", type=int, default=1000, help="so many larger ones (1000)")
    parser.add_argument("--every", type=int, default=1, help="only each EVERY-th of them")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--only", default="", help="only commands whose name contains this")
    parser.add_argument("--verbose", action="store_true", help="messages that do not speak of memory")
    options = parser.parse_args()
    directory = tempfile.mkdtemp(prefix="soa-alloc-")
    campaign = Campaign(os.path.abspath(options.soa), directory, options)
    total = collections.Counter()
    try:
        campaign.prepare()
        print(f"seed {options.seed}")
        print(f"{'command':16} {'allocs':>8} {'tried':>7} {'ours':>7} {'message':>8} {'survived':>8} {'other':>8}  crashes")
        with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
            for command in COMMANDS:
                if options.only in command[0]:
                    total += campaign.campaign(command, pool)
    finally:
        shutil.rmtree(directory, ignore_errors=True)
    print(f"{total['tried']} failed allocations, {total['message']} commands failed with a message, "
          f"{len(campaign.problems)} problems")
    sys.exit(1 if campaign.problems or not total["tried"] else 0)


main()
