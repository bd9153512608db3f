#!/usr/bin/env python3
"""Fails if a file includes a header of a room that its own room may not use.

The order of rooms is in docs/rooms.txt; scripts/include_graph.py says how its lines are written.  With --graph the rooms
and what each really includes are printed instead.
"""
import argparse
import pathlib
import sys

sys.dont_write_bytecode = True
import include_graph


def print_graph(tree, rooms_file):
    rooms = include_graph.Rooms(rooms_file)
    counts = {}
    for include in include_graph.includes_of(tree):
        source, target = rooms.of(include.source), rooms.of(include.target)
        if target and source != target:
            counts.setdefault(source, {}).setdefault(target, 0)
            counts[source][target] += 1
    for source in list(rooms.uses) + sorted(set(counts) - set(rooms.uses)):
        used = counts.get(source, {})
        print(f"{source}: " + ", ".join(f"{target} ({used[target]})" for target in sorted(used)))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tree", nargs="?", type=pathlib.Path, default=pathlib.Path(__file__).resolve().parent.parent,
                        help="the source tree (default: this one)")
    parser.add_argument("--rooms", type=pathlib.Path, help="the file of rooms (default: docs/rooms.txt of the tree)")
    parser.add_argument("--graph", action="store_true", help="print which rooms include which, with the number of includes")
    options = parser.parse_args()
    rooms_file = options.rooms or options.tree / "docs" / "rooms.txt"
    if not rooms_file.is_file():
        raise SystemExit(f"{rooms_file}: no such file")
    if options.graph:
        print_graph(options.tree, rooms_file)
        return 0
    faults = include_graph.other_faults(options.tree, rooms_file)
    faults += include_graph.wrong_includes(options.tree, rooms_file)
    for fault in faults:
        print(fault)
    if not faults:
        print(f"{len(include_graph.files_of(options.tree))} files: all includes go down")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
