#!/usr/bin/env python3
"""api-filter.py HEADER  prints a public header with its comments marked for Doxygen.

The first comment of a header describes the file; "/* --- title --- */" stays a comment; a comment at the start of a line
belongs to the declaration that follows, one after a declaration to that declaration.  A comment that belongs to several
functions in a row is repeated before each.
"""
import pathlib
import re
import sys

sys.dont_write_bytecode = True
import c_source


def marked(match):
    if c_source.TITLE.match(match.group()):
        return match.group()
    line_start = match.string.rfind("\n", 0, match.start()) + 1
    is_first = match.start() == 0
    follows_code = match.string[line_start:match.start()].strip()
    mark = "/** @file\n * " if is_first else "/**< " if follows_code else "/** "
    return mark + match.group("text").lstrip() + "*/"


def repeated(text):
    """The comment of a function before each function that shares it."""
    comments = {f.name: f.comment for f in c_source.public_functions(text)}
    result, at = [], 0
    for match in c_source.PROTOTYPE.finditer(text):
        line_before = text[:match.start()].rstrip("\n").rsplit("\n", 1)[-1]
        own = line_before.rstrip().endswith("*/") and not line_before.startswith("SOA_API")
        trailing = re.match(r" */\*", text[match.end():])
        result.append(text[at:match.start()])
        if not own and not trailing and comments.get(match.group("name")):
            result.append(f"/* {comments[match.group('name')]} */\n")
        at = match.start()
    return "".join(result) + text[at:]


def main():
    text = repeated(pathlib.Path(sys.argv[1]).read_text())
    sys.stdout.write(re.sub(c_source.COMMENT.pattern, marked, text, flags=re.S))


if __name__ == "__main__":
    main()
