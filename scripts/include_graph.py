"""The include graph of src, apps and tests, judged by the order of rooms in docs/rooms.txt.

A line of that file is `room: rooms it may use directly  # what it holds`, bottom room first, so that a room may only use
rooms of earlier lines.  `room` is a folder below src (`model`, `sweep/fast`).  Other lines have the same form:
    apps/soa: base apps/output     # private headers that a program may include; without a line none
    tests: sweep                   # the same for tests
    soa/forms.h: estimation        # the room to which a public header belongs; others may be included anywhere
"""
import pathlib
import re
from typing import NamedTuple

import c_source

INCLUDE = re.compile(r'#\s*include\s+"([^"]+)"')
SEARCHED = ("src", "models", "apps", "tests")


class Include(NamedTuple):
    source: str  # path in the tree
    line: int
    target: str


class Rooms:
    """What docs/rooms.txt says."""

    def __init__(self, path):
        self.uses = {}     # room, apps/... or tests/... -> what it may use
        self.headers = {}  # soa/NAME.h -> room
        self.faults = []
        for number, line in enumerate(path.read_text().splitlines(), 1):
            line = line.split("#")[0].strip()
            if not line:
                continue
            place = f"docs/{path.name}:{number}"
            name, colon, used = (part.strip() for part in line.partition(":"))
            if not colon:
                self.faults.append(f"{place}: expected 'room: rooms it may use', found '{line}'")
            elif name.startswith("soa/"):
                self.headers[name] = used
            elif name in self.uses:
                self.faults.append(f"{place}: room {name} has two lines")
            else:
                for room in used.split():
                    if room not in self.uses:
                        self.faults.append(f"{place}: room {name} may not use room {room}: it has no line above this one")
                self.uses[name] = used.split()

    def of(self, path):
        """The room of a file, or None: a public header that belongs to no room."""
        folder, _, rest = path.partition("/")
        if folder == "include":
            return self.headers.get(rest)
        prefix = "" if folder == "src" else folder + "/"
        rooms = [r for r in self.uses if (prefix + rest).startswith(r + "/") or r == folder != "src"]
        if rooms:
            return max(rooms, key=len)
        return rest.split("/")[0] if folder == "src" else "/".join(path.split("/")[:2]) if folder == "apps" else folder


def files_of(tree):
    """All C files of the tree that are searched, as paths from its root."""
    return [p.relative_to(tree).as_posix() for folder in SEARCHED for p in sorted((tree / folder).rglob("*.[ch]"))]


def includes_of(tree):
    """Every quoted include that names a file of the tree; others are made by the build, or belong to the system."""
    files = files_of(tree)
    known = set(files) | {p.relative_to(tree).as_posix() for p in (tree / "include").rglob("*.h")}
    by_name = {}
    for file in files:
        by_name.setdefault(file.rsplit("/", 1)[-1], []).append(file)
    result = []
    for source in files:
        for token in c_source.tokens((tree / source).read_text(encoding="utf-8", errors="replace")):
            match = INCLUDE.match(token.text) if token.kind == "directive" else None
            target = resolve(source, match.group(1), known, by_name) if match else None
            if target:
                result.append(Include(source, token.line, target))
    return result


def resolve(source, name, known, by_name):
    """The file that a quoted include means: beside its source, below a search path, or the only one of that name."""
    folder = source.rsplit("/", 1)[0]
    for base in (folder, "include", "src", "apps", "tests", "models", "."):
        parts = []
        for part in f"{base}/{name}".split("/"):
            if part == ".." and parts:
                parts.pop()
            elif part != ".":
                parts.append(part)
        if "/".join(parts) in known:
            return "/".join(parts)
    same = [f for f in by_name.get(name.rsplit("/", 1)[-1], []) if f.endswith("/" + name.lstrip("./"))]
    return same[0] if len(same) == 1 else None


def cycle_of(edges):
    """A cycle of a graph (name -> set of names) as a list that ends where it starts, or None."""
    state = {}  # 1: on the path, 2: done
    for start in sorted(edges):
        if start in state:
            continue
        path, state[start] = [(start, iter(sorted(edges[start])))], 1
        while path:
            node, rest = path[-1]
            for following in rest:
                if state.get(following) == 1:
                    names = [name for name, _ in path]
                    return names[names.index(following):] + [following]
                if following not in state:
                    state[following] = 1
                    path.append((following, iter(sorted(edges.get(following, ())))))
                    break
            else:
                state[node] = 2
                path.pop()
    return None


def wrong_includes(tree, rooms_file):
    """Messages about includes that the rooms do not allow, in the order of files."""
    rooms = Rooms(rooms_file)
    faults = []
    for include in includes_of(tree):
        source, target = rooms.of(include.source), rooms.of(include.target)
        if target is None or source == target or target == "tests" or target.startswith("tests/"):
            continue
        if include.target.startswith("include/") and not include.source.startswith(("src/", "models/")):
            continue
        if target not in rooms.uses.get(source, []):
            faults.append(f"{include.source}:{include.line}: includes {include.target}: "
                          f"room {source} may not use room {target}")
    return faults


def other_faults(tree, rooms_file):
    """Messages about the file of rooms itself, about rooms without a line or a folder, and about cycles."""
    rooms = Rooms(rooms_file)
    faults = list(rooms.faults)
    source_files = [f for f in files_of(tree) if f.startswith("src/")]
    used = {rooms.of(f) for f in source_files}
    faults += [f"src/{room}: room {room} has no line in docs/{rooms_file.name}" for room in sorted(used - set(rooms.uses))]
    for room in rooms.uses:
        folder = tree / room if room.startswith(("apps", "tests", "models")) else tree / "src" / room
        if not folder.is_dir():
            faults.append(f"docs/{rooms_file.name}: room {room} has no folder {folder.relative_to(tree)}")
    by_file, by_room = {}, {}
    for include in includes_of(tree):
        by_file.setdefault(include.source, set()).add(include.target)
        source, target = rooms.of(include.source), rooms.of(include.target)
        if target and source != target:
            by_room.setdefault(source, set()).add(target)
    for what, edges in (("files include each other in a circle", by_file), ("rooms use each other in a circle", by_room)):
        cycle = cycle_of(edges)
        if cycle:
            faults.append(f"{what}: {' -> '.join(cycle)}")
    return faults
