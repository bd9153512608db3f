#!/usr/bin/env python3
"""Checks the public interface, include/soa/*.h, against its grammar in scripts/interface-names.txt.

Prints how many functions there are, how many have a name outside the grammar, how many have more than eight
parameters, and how many int parameters and struct fields look like flags, where bool is meant (known by their names, or
by a comment that says "nonzero"; results of functions and of function types by such a comment too).  With --fail the exit
status is 1 if anything is found.
"""
import argparse
import pathlib
import re
import sys

sys.dont_write_bytecode = True
import c_source

HERE = pathlib.Path(__file__).resolve().parent
MOST_PARAMETERS = 8
FLAG = re.compile(r"^(is|has|can|with|use|no|want|ignore|keep|enable|disable|allow|by)_"
                  r"|^(on|off|enabled|dense|ideal|changed|news|fixed|plain|generic|passive|external|complete|pending"
                  r"|reversed|sliding|judged|prismatic)$"
                  r"|_(on|off|enabled|wanted|log)$")
FIELD = re.compile(r"^ +(?:int|unsigned) (?P<names>\w+(?:, \w+)*);[ \t]*(?P<comment>/\*.*?\*/)?", re.M | re.S)
FUNCTION_TYPE = re.compile(r"(?P<comment>/\*(?:(?!\*/).)*\*/)\s*typedef int (?P<name>soa_\w+)\(", re.S)
NONZERO = re.compile("nonzero", re.I)
KINDS = {
    "names": "names outside the grammar",
    "parameters": f"functions with more than {MOST_PARAMETERS} parameters",
    "flags": "parameters, fields and results of type int that look like flags",
}


class Grammar:
    """The three lists of interface-names.txt."""

    def __init__(self, path):
        self.objects = {}     # name -> its types
        self.quantities = {}  # name -> endings
        self.library = set()
        section = None
        for number, line in enumerate(path.read_text().splitlines(), 1):
            line = line.split("#")[0].strip()
            if not line:
                continue
            if line.startswith("["):
                section = line.strip("[]")
                continue
            name, _, rest = (part.strip() for part in line.partition(":"))
            if section == "objects":
                self.objects[name] = [] if rest == "-" else rest.split()
            elif section == "quantities":
                self.quantities[name] = rest.split()
            elif section == "library":
                self.library.add(name)
            else:
                raise SystemExit(f"{path}:{number}: no such section: [{section}]")

    def is_quantity(self, name):
        if name in self.quantities:
            return True
        return any(name == f"{quantity}_{ending}" for quantity, endings in self.quantities.items() for ending in endings)

    def fault(self, function):
        """What is wrong with the name of a function, or None."""
        name = function.name.removeprefix("soa_")
        types = [re.sub(r"\bconst\b|[*\s]|\[.*?\]", "", t) for t in [function.result] + [p.type for p in function.parameters]]
        ours = [t.removeprefix("soa_") for t in types if t.startswith("soa_")]
        things = [t for t in ours if t not in ("status", "report")]
        if name.endswith("_default"):
            made = types[0].removeprefix("soa_")
            thing = name.removesuffix("_default")
            if made not in (thing, thing + "_def"):
                return f"returns a soa_{made}, so its name should be soa_{made.removesuffix('_def')}_default"
        if name in self.library:
            return None
        if self.is_quantity(name):
            first = types[1] if len(types) > 1 else ""
            return None if first == "soa_model" else "is in the list of quantities, and its first parameter is not the model"
        objects = [o for o in self.objects if name.startswith(o + "_")]
        if not objects:
            return "names no object of the list, and is no algorithm or quantity of the list"
        for candidate in objects:
            if name == candidate + "_size":  # the memory that an object will need: there is none yet
                return None
            wanted = self.objects[candidate]
            if not wanted or not things or any(t in wanted for t in ours):
                return None
        longest = max(objects, key=len)
        return f"takes and returns no soa_{' or soa_'.join(self.objects[longest])}, so it is no call on '{longest}'"


    def unused(self, functions):
        """The objects and quantities of the list that no function uses."""
        names = [f.name.removeprefix("soa_") for f in functions]
        objects = [o for o in self.objects if not any(n.startswith(o + "_") for n in names)]
        quantities = [f"{q}_{e}" if e else q for q, endings in self.quantities.items() for e in ["", *endings]]
        return objects + [q for q in quantities if not any(n == q or n.startswith(q + "_") for n in names)]


def findings(headers, grammar):
    """The functions, and the findings as (kind, text)."""
    functions, found, seen = [], [], {}
    for header in headers:
        for f in c_source.public_functions(header.read_text()):
            functions.append(f)
            place = f"{header.parent.name}/{header.name}:{f.line}: {f.name}"
            fault = grammar.fault(f)
            if f.name in seen:
                fault = f"is declared twice, also in {seen[f.name]}"
            seen[f.name] = header.name
            if fault:
                found.append(("names", f"{place}: {fault}"))
            if len(f.parameters) > MOST_PARAMETERS:
                found.append(("parameters", f"{place}: {len(f.parameters)} parameters"))
            for p in f.parameters:
                if p.type in ("int", "int *", "unsigned") and FLAG.search(p.name):
                    found.append(("flags", f"{place}: {p.type} {p.name}"))
            if f.result == "int" and NONZERO.search(f.comment):
                found.append(("flags", f"{place}: the result"))
        text = header.read_text()
        for match in FIELD.finditer(text):
            names = match.group("names").split(", ")
            if NONZERO.search(match.group("comment") or "") or any(FLAG.search(name) for name in names):
                line = text.count("\n", 0, match.start()) + 1
                found.append(("flags", f"{header.parent.name}/{header.name}:{line}: field {match.group('names')}"))
        for match in FUNCTION_TYPE.finditer(text):
            if NONZERO.search(match.group("comment")):
                line = text.count("\n", 0, match.start("name")) + 1
                found.append(("flags", f"{header.parent.name}/{header.name}:{line}: type {match.group('name')}"))
    return functions, found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tree", type=pathlib.Path, default=HERE.parent, help="the source tree (default: this one)")
    parser.add_argument("--names", type=pathlib.Path, default=HERE / "interface-names.txt", help="the grammar")
    parser.add_argument("--list", nargs="?", const="all", choices=["all", *KINDS], help="print each finding")
    parser.add_argument("--unused", action="store_true", help="print the names of the grammar that no function uses")
    parser.add_argument("--fail", action="store_true", help="print each finding, and exit with 1 if there is one")
    options = parser.parse_args()

    headers = sorted((options.tree / "include" / "soa").glob("*.h"))
    if not headers:
        raise SystemExit(f"{options.tree}/include/soa: no headers")
    grammar = Grammar(options.names)
    functions, found = findings(headers, grammar)
    wanted = KINDS if options.list in (None, "all") else [options.list]
    for kind, text in found:
        if (options.list and kind in wanted) or options.fail:
            print(text)
    if options.unused:
        print("\n".join(grammar.unused(functions)))
    print(f"{len(functions):5} public functions in {len(headers)} headers")
    for kind, title in KINDS.items():
        print(f"{sum(k == kind for k, _ in found):5} {title}")
    return 1 if options.fail and found else 0


if __name__ == "__main__":
    sys.exit(main())
