#!/usr/bin/env python3
"""Writes soa/_c.py: every type, constant and function of include/soa/*.h, for ctypes.

usage: generate_bindings.py COMPILER INCLUDE OUTPUT

The compiler's preprocessor expands the headers; only what comes from include/soa is kept.  The headers use a small part of
C, so a small parser is enough; anything it does not know is an error, and a type is never guessed.
"""
import pathlib
import re
import subprocess
import sys

NUMBERS = {
    "double": "c_double", "float": "c_float", "int": "c_int", "unsigned": "c_uint", "unsigned int": "c_uint",
    "long": "c_long", "char": "c_char", "unsigned char": "c_ubyte", "_Bool": "c_bool", "bool": "c_bool",
    "size_t": "c_size_t", "int64_t": "c_int64", "uint64_t": "c_uint64", "uint32_t": "c_uint32", "int32_t": "c_int32",
    "unsigned long": "c_ulong", "long long": "c_longlong", "unsigned long long": "c_ulonglong", "uint8_t": "c_uint8", "uint16_t": "c_uint16", "int8_t": "c_int8",
}
TOKEN = re.compile(r'"(?:\\.|[^"\\])*"|[A-Za-z_]\w*|0[xX][0-9a-fA-F]+|\d[\w.]*|<<|[-+*/|&()\[\]{};,=:~?<>!.]')


def preprocessed(compiler, include):
    """The text of include/soa/*.h after the preprocessor, without what it includes from elsewhere."""
    headers = sorted((include / "soa").glob("*.h"))
    source = "".join(f'#include "soa/{h.name}"\n' for h in headers)
    text = subprocess.run([compiler, "-E", "-xc", "-std=c11", f"-I{include}", "-"], input=source, capture_output=True,
                          text=True, check=True).stdout
    kept, ours = [], False
    for line in text.splitlines():
        marker = re.match(r'# \d+ "([^"]*)"', line)
        if marker:
            ours = "/soa/" in marker.group(1)
        elif ours:
            kept.append(line)
    text = "\n".join(kept)
    return re.sub(r"__attribute__\(\(.*?\)\)\)", "", re.sub(r'__attribute__\(\(visibility\("default"\)\)\)', "SOA_API", text))


def constants(include):
    """The numbers and texts of #define lines."""
    found = {}
    for header in sorted((include / "soa").glob("*.h")):
        for match in re.finditer(r'^#define (SOA_[A-Z]\w*) +\(?(-?[\dx][\w.]*|"[^"]*")\)?\s*(?:/\*.*)?$', header.read_text(), re.M):
            found[match.group(1)] = match.group(2)
    return found


class Parser:
    def __init__(self, text):
        self.tokens = TOKEN.findall(text)
        self.at = 0
        self.constants = {}   # of enums
        self.enums = {}       # name -> [(constant, value)]
        self.structs = {}     # name -> [(field, type)] or None
        self.callbacks = {}   # name -> (result, [types])
        self.functions = {}   # name -> (result, [(name, type)])
        self.order = []       # names of structs and callbacks, as defined

    def peek(self):
        return self.tokens[self.at] if self.at < len(self.tokens) else ""

    def take(self, wanted=None):
        token = self.peek()
        if wanted is not None and token != wanted:
            raise SystemExit(f"expected {wanted!r}, found {' '.join(self.tokens[max(0, self.at - 12):self.at + 6])!r}")
        self.at += 1
        return token

    def skip(self, token):
        if self.peek() == token:
            self.at += 1
            return True
        return False

    def value(self, stops):
        """The value of a constant expression."""
        words = []
        while self.peek() not in stops:
            token = self.take()
            words.append(str(self.constants[token]) if token in self.constants else re.sub("[uUlL]+$", "", token))
        return int(eval(" ".join(words), {"__builtins__": {}}))  # numbers and operators of our own headers

    def enum_body(self):
        self.take("{")
        members, following = [], 0
        while not self.skip("}"):
            name = self.take()
            if self.skip("="):
                following = self.value(",}")
            members.append((name, following))
            self.constants[name] = following
            following += 1
            self.skip(",")
        return members

    def base(self):
        """A type without its stars: (text, is constant)."""
        words = []
        while True:
            token = self.peek()
            if token in ("const", "struct", "enum"):
                self.take()
            elif token in ("unsigned", "long", "int", "char") and (not words or words[-1] in ("unsigned", "long")):
                words.append(self.take())
            elif not words:
                words.append(self.take())
            else:
                return " ".join(words)

    def declarator(self, base):
        """The stars, the name and the brackets after a base type: (name, type)."""
        stars = 0
        while self.peek() in ("*", "const"):
            stars += self.take() == "*"
        if self.peek() == "(":  # int (*pairs)[2], status (*exchange)(void *)
            self.take("(")
            self.take("*")
            stars += 1
            name = self.take()
            self.take(")")
            if self.peek() == "(":
                return name, ("function", ("plain", base, stars - 1, []), [t for _, t in self.parameters()])
            inner = []
            while self.skip("["):
                inner.append(self.value("]"))
                self.take("]")
            return name, ("pointer to array", base, inner)
        name = self.take() if re.match(r"[A-Za-z_]", self.peek()) else ""
        sizes = []
        while self.skip("["):
            sizes.append(None if self.peek() == "]" else self.value("]"))
            self.take("]")
        return name, ("plain", base, stars, sizes)

    def parameters(self):
        self.take("(")
        found = []
        while not self.skip(")"):
            if self.peek() == "void" and self.tokens[self.at + 1] == ")":
                self.take()
                continue
            found.append(self.declarator(self.base()))
            self.skip(",")
        return found

    def struct_body(self):
        self.take("{")
        fields = []
        while not self.skip("}"):
            base = self.base()
            while True:
                fields.append(self.declarator(base))
                if self.skip(";"):
                    break
                self.take(",")
        return fields

    def define(self, name, fields):
        if name not in self.order:
            self.order.append(name)
        if fields is not None or name not in self.structs:
            self.structs[name] = fields

    def typedef(self):
        if self.skip("enum"):
            self.take()
            members = self.enum_body()
            self.enums[self.take()] = members
        elif self.peek() == "struct" and self.tokens[self.at + 2] in ("{", self.tokens[self.at + 1]):
            self.take("struct")
            tag = self.take()
            fields = self.struct_body() if self.peek() == "{" else None
            self.define(self.take(), fields)
            assert tag
        else:
            base = self.base()
            stars = 0
            while self.skip("*"):
                stars += 1
            name = self.take()
            self.callbacks[name] = (("plain", base, stars, []), [t for _, t in self.parameters()])
            self.order.append(name)
        self.take(";")

    def parse(self):
        while self.at < len(self.tokens):
            if self.skip(";"):
                continue
            if self.skip("typedef"):
                self.typedef()
            elif self.peek() == "enum":
                self.take()
                self.enum_body()
                self.take(";")
            elif self.skip("SOA_API"):
                base = self.base()
                stars = 0
                while self.peek() in ("*", "const"):
                    stars += self.take() == "*"
                name = self.take()
                self.functions[name] = (("plain", base, stars, []), self.parameters())
                self.take(";")
            else:
                raise SystemExit(f"not known: {' '.join(self.tokens[self.at:self.at + 12])}")


class Writer:
    def __init__(self, parser):
        self.p = parser

    def plain(self, base):
        if base in NUMBERS:
            return NUMBERS[base]
        if base in self.p.enums:
            return "c_int"
        if base in self.p.structs or base in self.p.callbacks:
            return base
        raise SystemExit(f"the type {base!r} is not known")

    def ctype(self, kind, field=False):
        """The ctypes expression of a type; arrays among parameters are pointers."""
        if kind[0] == "function":
            return f"CFUNCTYPE({', '.join(self.ctype(k) for k in [kind[1], *kind[2]])})"
        if kind[0] == "pointer to array":
            text = self.plain(kind[1])
            for size in reversed(kind[2]):
                text = f"({text} * {size})"
            return f"POINTER({text})"
        _, base, stars, sizes = kind
        if base in self.p.callbacks and stars:
            text, stars = base, stars - 1  # a function type and its pointer are one in ctypes
        elif base == "char" and stars:
            text, stars = "c_char_p", stars - 1
        elif base == "void":
            if not stars:
                return "None"
            text, stars = "c_void_p", stars - 1
        else:
            text = self.plain(base)
        for _ in range(stars):
            text = f"POINTER({text})"
        if sizes and not field:
            for size in reversed(sizes[1:]):
                text = f"({text} * {size})"
            return f"POINTER({text})"
        for size in reversed(sizes):
            text = f"({text} * {size})"
        return text

    def text(self, numbers):
        p = self.p
        lines = ['"""All of libsoa\'s C interface for ctypes, made from include/soa/*.h; see the headers for what it does."""',
                 "# Made by python/generate_bindings.py: change the headers, not this file.",
                 "from ctypes import (CDLL, CFUNCTYPE, POINTER, Structure, c_bool, c_char, c_char_p, c_double, c_float, c_int,",
                 "                    c_int8, c_int32, c_int64, c_long, c_longlong, c_size_t, c_ubyte, c_uint, c_uint8, c_uint16, c_uint32,",
                 "                    c_uint64, c_ulong, c_ulonglong, c_void_p)", "",
                 "from . import _core", "", "library = CDLL(_core.__file__)", ""]
        lines += [f"{name} = {value}" for name, value in numbers.items()]
        lines += [f"{name} = {value}" for name, value in p.constants.items()]
        lines.append("")
        for name in p.structs:
            lines += [f"class {name}(Structure):", "    pass", ""]
        done = set()

        def needs(kind):
            """The struct or callback whose layout must be known first."""
            if kind[0] == "plain" and (kind[2] == 0 or kind[1] in p.callbacks):
                return kind[1] if kind[1] in p.structs or kind[1] in p.callbacks else None
            return None

        def emit(name):
            if name in done:
                return
            done.add(name)
            if name in p.callbacks:
                result, types = p.callbacks[name]
                for kind in [result, *types]:
                    if needs(kind):
                        emit(needs(kind))
                lines.append(f"{name} = CFUNCTYPE({', '.join(self.ctype(k) for k in [result, *types])})")
            elif p.structs[name] is not None:
                for _, kind in p.structs[name]:
                    if needs(kind):
                        emit(needs(kind))
                lines.append(f"{name}._fields_ = [")
                lines.extend(f'    ("{field}", {self.ctype(kind, field=True)}),' for field, kind in p.structs[name])
                lines.append("]")
        for name in p.order:
            emit(name)
        lines += ["", "# name: (result, arguments)", "prototypes = {"]
        for name, (result, parameters) in p.functions.items():
            arguments = ", ".join(self.ctype(k) for _, k in parameters)
            lines.append(f'    "{name}": ({self.ctype(result)}, [{arguments}]),')
        lines += ["}", "parameters = {"]
        for name, (_, parameters) in p.functions.items():
            lines.append(f'    "{name}": ({", ".join(repr(n) for n, _ in parameters)}{"," if parameters else ""}),')
        lines += ["}", "",
                  "for _name, (_result, _arguments) in prototypes.items():",
                  "    _function = getattr(library, _name)",
                  "    _function.restype = _result",
                  "    _function.argtypes = _arguments",
                  "    globals()[_name] = _function",
                  "del _name, _result, _arguments, _function", ""]
        return "\n".join(lines)


def main():
    compiler, include, output = sys.argv[1], pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])
    parser = Parser(re.sub(r'extern "C" \{', "", preprocessed(compiler, include)))
    parser.parse()
    output.write_text(Writer(parser).text(constants(include)))


if __name__ == "__main__":
    main()
