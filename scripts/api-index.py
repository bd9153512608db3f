#!/usr/bin/env python3
"""Writes an index of the public functions by what they compute, and fails if one of them has no comment.

api-index.py [OUTPUT]   OUTPUT defaults to build/api/index.md
For each header and each part of it: the functions with the first sentence of their comments.  A comment that belongs to
several functions is given with each of them.
"""
import pathlib
import re
import sys

sys.dont_write_bytecode = True
import c_source

TREE = pathlib.Path(__file__).resolve().parent.parent


def first_sentence(comment):
    """Up to the first full stop that ends a sentence, and not an abbreviation."""
    match = re.match(r"(.*?(?<!e\.g)(?<!i\.e)\.)(?=\s+[A-Z`(\"']|\s*$)", comment)
    return match.group(1) if match else comment


def header_title(text):
    """What the first comment of a header says after its name."""
    match = re.search(r"/\* soa/\w+\.h\s+(.*?)\n", text)
    return match.group(1).strip().removesuffix("*/").strip() if match else ""


def escaped(text):
    return text.replace("|", "\\|").replace("<", "&lt;").replace("*", "\\*")


def main():
    output = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else TREE / "build" / "api" / "index.md")
    lines = ["# Public functions by what they compute", ""]
    bare = []
    count = 0
    for header in sorted((TREE / "include" / "soa").glob("*.h")):
        text = header.read_text()
        functions = c_source.public_functions(text)
        count += len(functions)
        bare += [f"include/soa/{header.name}:{f.line}: {f.name} has no comment" for f in functions if not f.comment]
        if functions:
            lines += [f"## soa/{header.name}", "", escaped(header_title(text)), ""]
        group = None
        for f in functions:
            if f.group != group or group is None:
                group = f.group
                lines += [f"### {escaped(group)}", ""] if group else []
                lines += ["| function | what it does |", "|---|---|"]
            lines.append(f"| `{f.name}` | {escaped(first_sentence(f.comment))} |")
            following = functions[functions.index(f) + 1:][:1]
            if not following or following[0].group != group:
                lines.append("")
    output.parent.mkdir(parents=True, exist_ok=True)
    output.write_text("\n".join(lines))
    for fault in bare:
        print(fault)
    print(f"{output}: {count} functions, {len(bare)} without a comment")
    return 1 if bare else 0


if __name__ == "__main__":
    sys.exit(main())
