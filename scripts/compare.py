#!/usr/bin/env python3
"""Compares this tree with an earlier commit: answers, instructions or times of the public calls, sizes.

The commit is checked out and built in build/compare/COMMIT, this tree in build/compare/present, both as a release with
the same options.  bench/compare_calls.c is compiled once against each, and bench/compare.c runs both on the same
machines and states in one process.  The table shows, for each call and machine, the cost of this tree divided by that
of the commit.  The exit status is 1 if answers differ or a ratio is above the limit.
"""
import argparse
import collections
import concurrent.futures
import io
import os
import pathlib
import resource
import shutil
import subprocess
import sys
import tarfile
import tempfile

TREE = pathlib.Path(__file__).resolve().parent.parent
BUILD = TREE / "build" / "compare"
MACHINES = ("arm7", "quadruped", "humanoid", "four-bar", "chain:100", "puma560", "satellite", "random:7")
BUILT_IN = ("two-arms",)  # made by compare_calls.c
GENERATED = ("arm7", "quadruped", "humanoid")
OPTIONS = ("-DCMAKE_BUILD_TYPE=Release", "-DSOA_TESTS=OFF", "-DSOA_WEB=OFF")
TARGETS = ("soa", "soa_program")
CC = os.environ.get("CC", "cc")
JOBS = int(os.environ.get("JOBS", os.cpu_count() or 1))
LIMIT = 1.03
COPIES = 3  # of the libraries, when times are measured
Row = collections.namedtuple("Row", "machine call kind rest")


def run(*command, **options):
    """Runs a command; its output is shown only if it fails."""
    done = subprocess.run([str(c) for c in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          check=False, **options)
    if done.returncode != 0:
        sys.exit(f"{done.stdout}\ncompare.py: `{' '.join(map(str, command))}` failed with status {done.returncode}")
    return done.stdout


def check_out(commit, folder):
    """The files of a commit."""
    archive = subprocess.run(["git", "-C", TREE, "archive", commit], stdout=subprocess.PIPE, check=True).stdout
    with tarfile.open(fileobj=io.BytesIO(archive)) as files:
        files.extractall(folder, filter="data")


def copy_present(folder):
    """The files of this tree that git knows, as they are now."""
    for name in subprocess.run(["git", "-C", TREE, "ls-files", "-z"], stdout=subprocess.PIPE,
                               check=True).stdout.decode().split("\0"):
        if name and (TREE / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(TREE / name, folder / name)


class Version:
    """One version: its source, its build, and the module with the calls."""

    def __init__(self, name, source, build):
        self.name, self.source, self.build = name, source, build
        self.module = build / "compare_calls.so"

    def make(self):
        run("cmake", "-S", self.source, "-B", self.build, *OPTIONS)
        run("cmake", "--build", self.build, "-j", JOBS, "--target", *TARGETS)
        generated = []
        for machine in GENERATED:
            text, code = self.build / f"generated_{machine}.c", self.build / f"generated_{machine}.o"
            run(self.build / "soa", "gen", machine, "--ideal", "--prefix", machine, "-o", text)
            run(CC, "-O3", "-march=native", "-fPIC", "-c", text, "-o", code)
            generated.append(code)
        run(CC, "-std=gnu11", "-O2", "-fPIC", "-shared", "-fvisibility=hidden", "-DSOA_COMPARE_GENERATED=1",
            "-I", self.source / "include", TREE / "bench" / "compare_calls.c", *generated, "-o", self.module,
            "-L", self.build, "-lsoa", "-lm", "-Wl,-rpath,$ORIGIN", "-Wl,--no-undefined")

    def save_models(self, folder):
        """machine -> argument of compare: its name and its file."""
        folder.mkdir(parents=True, exist_ok=True)
        result = {}
        for machine in MACHINES:
            path = folder / (machine.replace(":", "") + ".soam")
            run(self.build / "soa", "save", machine, "-o", path)
            result[machine] = f"{machine.replace(':', '')}={path}"
        return result | {machine: machine for machine in BUILT_IN}

    def library_size(self):
        """Bytes of libsoa.so without symbols."""
        with tempfile.TemporaryDirectory() as folder:
            stripped = pathlib.Path(folder) / "libsoa.so"
            run("strip", "-o", stripped, self.build / "libsoa.so")
            return stripped.stat().st_size


def compare_copy(task, versions, only, argument):
    """The rows that compare writes for one machine, with fresh copies of the libraries."""
    modules = []
    with tempfile.TemporaryDirectory(dir=BUILD) as folder:
        for number, version in enumerate(versions):
            copy = pathlib.Path(folder) / str(number)
            copy.mkdir()
            shutil.copy(version.build / "libsoa.so", copy / os.readlink(version.build / "libsoa.so"))
            modules.append(shutil.copy(version.module, copy))
        done = subprocess.run([BUILD / "compare", task, *modules, f"only={only}", argument], stdout=subprocess.PIPE,
                              text=True, check=False)
    if done.returncode not in (0, 1):
        sys.exit(f"compare.py: compare failed with status {done.returncode} on {argument}")
    return [Row(machine, call, kind, rest) for machine, call, kind, *rest in
            (line.split("\t") for line in done.stdout.splitlines())]


def compare_machine(task, versions, only, argument):
    """The rows of one machine; of times, each from the copy with the median ratio: where the pages of a library lie in
    memory, which its processes share, can change a time by a fifth."""
    copies = [compare_copy(task, versions, only, argument) for _ in range(COPIES if task == "time" else 1)]
    return [min(same, key=lambda row: row.kind == "ok") if any(row.kind != "ok" for row in same)
            else sorted(same, key=lambda row: ratio_of(row) or 0)[len(same) // 2] for same in zip(*copies)]


def ratio_of(row):
    old, new = float(row.rest[1]), float(row.rest[2])
    return new / old if old > 0 and new > 0 else None


def print_table(rows, machines):
    """Calls down, machines across; "=" where only agreement is known, "-" where there is no such call."""
    names = [m.replace(":", "") for m in machines]
    cells = {(row.call, row.machine): row for row in rows}
    print(f"{'':28}" + "".join(f"{name:>10}" for name in names))
    for call in dict.fromkeys(row.call for row in rows):
        shown = []
        for name in names:
            row = cells.get((call, name))
            ratio = ratio_of(row) if row and row.kind == "ok" else None
            if row is None or row.kind == "refused":
                shown.append("-")
            elif row.kind != "ok":
                shown.append(row.kind.upper())
            else:
                shown.append("=" if ratio is None else f"{ratio:.3f}")
        print(f"{call:28}" + "".join(f"{cell:>10}" for cell in shown))


def judge(rows, limit):
    """Lists what is wrong; returns their number."""
    wrong = [f"{r.machine} {r.call}: {r.kind} {' '.join(r.rest)}" for r in rows if r.kind in ("differ", "status")]
    worst = max((float(r.rest[0]) for r in rows if r.kind == "ok"), default=0)
    print(f"\n{sum(r.kind == 'ok' for r in rows)} calls agree, the largest relative difference is {worst:.1e}")
    for row in rows:
        ratio = ratio_of(row) if row.kind == "ok" else None
        if ratio is not None and ratio > limit:
            wrong.append(f"{row.machine} {row.call}: {ratio:.3f} ({row.rest[1]} -> {row.rest[2]})")
    for line in wrong:
        print(line)
    return len(wrong)


def make_time(version_name, fill):
    """Processor time of `make` from scratch, s, without ccache."""
    environment = {name: value for name, value in os.environ.items() if not name.endswith("_COMPILER_LAUNCHER")}
    environment["CCACHE_DISABLE"] = "1"
    with tempfile.TemporaryDirectory(dir=BUILD) as folder:
        fill(pathlib.Path(folder))
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        run("make", cwd=folder, env=environment)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    print(f"make from scratch, {version_name}: {seconds:.0f} s of processor time")
    return seconds


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--against", required=True, metavar="COMMIT")
    parser.add_argument("--task", choices=("time", "count", "agree"), default="time",
                        help="times; instructions (slow, but other processes do not matter); or answers alone")
    parser.add_argument("--only", default="", metavar="TEXT", help="calls whose name contains this")
    parser.add_argument("--machines", nargs="+", default=MACHINES + BUILT_IN, metavar="NAME")
    parser.add_argument("--limit", type=float, default=LIMIT, help="largest ratio that passes")
    parser.add_argument("--make", action="store_true", help="compare the processor time of `make` too")
    options = parser.parse_args()

    commit = subprocess.run(["git", "-C", TREE, "rev-parse", "--short", f"{options.against}^{{commit}}"],
                            stdout=subprocess.PIPE, text=True, check=True).stdout.strip()
    BUILD.mkdir(parents=True, exist_ok=True)
    source = BUILD / commit
    if not source.is_dir():
        check_out(commit, source)
    old = Version(commit, source, source / "build")
    new = Version("present", TREE, BUILD / "present")
    for version in (old, new):
        version.make()
    run(CC, "-std=gnu11", "-O2", "-Wall", "-Wextra", TREE / "bench" / "compare.c", "-o", BUILD / "compare",
        "-ldl", "-lm")
    arguments = old.save_models(BUILD / "models")
    unknown = set(options.machines) - set(arguments)
    if unknown:
        parser.error(f"no machine {', '.join(sorted(unknown))}; there are {', '.join(arguments)}")

    workers = 1 if options.task == "time" else JOBS
    with concurrent.futures.ThreadPoolExecutor(workers) as pool:
        parts = pool.map(lambda m: compare_machine(options.task, (old, new), options.only, arguments[m]),
                         options.machines)
        rows = [row for part in parts for row in part]
    print(f"{options.task}: this tree / {commit}")
    print_table(rows, options.machines)
    failures = judge(rows, options.limit)
    sizes = [version.library_size() for version in (old, new)]
    print(f"libsoa.so without symbols: {sizes[0]} -> {sizes[1]} bytes, {sizes[1] / sizes[0]:.3f}")
    if options.make:
        times = [make_time(commit, lambda folder: check_out(commit, folder)), make_time("present", copy_present)]
        print(f"make: {times[1] / times[0]:.3f}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
