#!/usr/bin/env python3
"""Measures how the C code of src, apps and tests reads: figures per 1,000 lines of code, or counts.

Lines of code are lines that hold more than comments and spaces.  With --fail the exit status is 1 if a figure is beyond
its limit.  With --against the same figures of another revision are printed beside today's.
"""
import argparse
import pathlib
import subprocess
import sys
import tarfile
import tempfile

sys.dont_write_bytecode = True
import c_metrics
import include_graph

TREE = pathlib.Path(__file__).resolve().parent.parent
PARTS = {"src": ("src", "models"), "apps": ("apps",), "tests": ("tests",)}
# kind: (title, whether it is given per 1,000 lines of code, limit: the figure must be below it, or 0)
KINDS = {
    "commas": ("statements joined by the comma operator", True, 1),
    "long-lines": (f"lines over {c_metrics.LONG_LINE} columns", True, 5),
    "ternary-lines": ("lines with two or more ternaries", True, None),
    "nested-ternaries": ("nested ternaries", False, 0),
    "long-functions": (f"functions over {c_metrics.LONG_FUNCTION} lines", False, 0),
    "upward-includes": ("includes that the rooms do not allow", False, 0),
}


def measure(tree):
    """Figures of a tree: part -> {files, lines, code lines, functions, kind -> list of "file:line: text"}."""
    rooms = tree / "docs" / "rooms.txt"
    wrong = include_graph.wrong_includes(tree, rooms) if rooms.is_file() else None
    result = {}
    for part, folders in PARTS.items():
        figures = {"files": 0, "lines": 0, "code lines": 0, "functions": 0, **{kind: [] for kind in KINDS}}
        for path in sorted(p for folder in folders for p in (tree / folder).rglob("*.[ch]")):
            measured = c_metrics.measure(path.read_text(encoding="utf-8"))
            figures["files"] += 1
            figures["lines"] += measured.lines
            figures["code lines"] += measured.code_lines
            figures["functions"] += measured.functions
            for finding in measured.findings:
                figures[finding.kind].append(f"{path.relative_to(tree)}:{finding.line}: {finding.text}")
        figures["upward-includes"] = None if wrong is None else [w for w in wrong if w.startswith(folders)]
        result[part] = figures
    return result


def figure(figures, kind):
    """A figure as a number: per 1,000 lines of code, or a count; None if it is not known."""
    _, per_thousand, _ = KINDS[kind]
    if figures[kind] is None:
        return None
    return 1000 * len(figures[kind]) / max(figures["code lines"], 1) if per_thousand else len(figures[kind])


def shown(figures, kind):
    value = figure(figures, kind)
    if value is None:
        return "-"
    if kind == "long-functions":
        return f"{value} of {figures['functions']:,}"
    return f"{value:.1f}" if KINDS[kind][1] else f"{value:,}"


def rows(measured):
    for name in ("files", "lines", "code lines", "functions"):
        yield name, [f"{figures[name]:,}" for figures in measured.values()]
    for kind, (title, per_thousand, _) in KINDS.items():
        yield title + (" *" if per_thousand else ""), [shown(figures, kind) for figures in measured.values()]


def print_table(now, before=None):
    width = 44
    columns = [part for part in now for _ in range(2 if before else 1)]
    print(" " * width + "".join(f"{column:>14}" for column in columns))
    if before:
        print(" " * width + f"{'before':>14}{'after':>14}" * len(now))
    old = dict(rows(before)) if before else {}
    for title, values in rows(now):
        cells = [cell for pair in zip(old[title], values) for cell in pair] if before else values
        print(f"{title:{width}}" + "".join(f"{cell:>14}" for cell in cells))
    print("* per 1,000 lines of code")


def measure_revision(revision):
    with tempfile.TemporaryDirectory() as folder:
        archive = subprocess.Popen(["git", "-C", TREE, "archive", revision], stdout=subprocess.PIPE)
        with tarfile.open(fileobj=archive.stdout, mode="r|") as tar:
            tar.extractall(folder, filter="data")
        if archive.wait():
            raise SystemExit(f"git archive {revision} failed")
        return measure(pathlib.Path(folder))


def beyond_limits(measured):
    for part, figures in measured.items():
        for kind, (title, _, limit) in KINDS.items():
            value = figure(figures, kind)
            if limit is None or value is None:
                continue
            if value >= limit if limit else value > 0:
                allowed = f"below {limit} per 1,000 lines of code" if limit else "0"
                yield f"{part}: {title}: {shown(figures, kind)}, must be {allowed}; see --list {kind}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tree", type=pathlib.Path, default=TREE, help="the source tree (default: this one)")
    parser.add_argument("--list", choices=KINDS, metavar="KIND", help="print each finding: " + ", ".join(KINDS))
    parser.add_argument("--against", metavar="REVISION", help="print the figures of this git revision too")
    parser.add_argument("--fail", action="store_true", help="exit with 1 if a figure is beyond its limit")
    options = parser.parse_args()
    now = measure(options.tree.resolve())
    if options.list:
        for figures in now.values():
            for finding in figures[options.list] or []:
                print(finding)
        return 0
    print_table(now, measure_revision(options.against) if options.against else None)
    faults = list(beyond_limits(now)) if options.fail else []
    for fault in faults:
        print(fault, file=sys.stderr)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
