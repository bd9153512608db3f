"""Findings about the surface of C source: comma statements, ternaries, long lines, long functions.

The source is read token by token with a stack of open brackets.  No types are known, so a few rules stand for a parser:
  - a statement that begins with a type word, or with "name name" or "name *name", is a declaration;
  - "(" after a name is a call, a declaration or a macro; after an operator it groups an expression;
  - "{" after "=", "," , "(", "return" or a cast opens an initialiser; after a statement's ")" or at its start, a block.
"""
import copy
import re
from typing import NamedTuple

import c_source

LONG_LINE = 100
LONG_FUNCTION = 100

TYPE_WORDS = frozenset("""auto bool char const double enum extern float inline int long register restrict short signed
    size_t static struct typedef typeof __typeof__ union unsigned void volatile _Alignas _Bool _Complex _Static_assert
    _Thread_local alignas static_assert __extension__ __float128""".split())
CONDITIONS = frozenset(["if", "while", "switch"])
STATEMENT_WORDS = frozenset(["return", "else", "do", "goto", "break", "continue", "case", "default", "sizeof"])
ASSIGNMENTS = frozenset(["=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>="])


class Finding(NamedTuple):
    kind: str
    line: int
    text: str


class Level:
    """An open bracket, or the file itself, and what is known of the expression inside it."""

    def __init__(self, kind, before=None, line=0):
        self.kind = kind        # file, block, initialiser, list (enum, struct), call, group, condition, for, index
        self.before = before    # the token before the bracket
        self.line = line        # of the bracket
        self.function = None    # (name, first line), of a block that is a function's body
        self.start_statement()

    def start_statement(self):
        self.tokens = []        # of the statement so far
        self.comma_found = False
        self.start_expression()

    def start_expression(self):
        self.in_ternary = False      # a "?" was seen in this expression
        self.ternary_inside = False  # one was seen in brackets of this expression


def is_declaration(statement):
    """Whether the tokens of a statement begin a declaration."""
    texts = [t.text for t in statement[:6]]
    if not texts or statement[0].kind != "word" or texts[0] in STATEMENT_WORDS:
        return False
    if texts[0] in TYPE_WORDS:
        return True
    i = 1
    while i < len(texts) and texts[i] in ("*", "const", "restrict"):
        i += 1
    return i < len(statement) and statement[i].kind == "word" and (i > 1 or texts[i] not in STATEMENT_WORDS)


class Reader:
    """Walks over the tokens of a file, or of a macro's body, and collects findings and functions."""

    def __init__(self):
        self.findings = []
        self.functions = []  # (name, first line, last line)

    def file(self, text):
        self.walk(c_source.tokens(text), Level("file"))
        for number, line in enumerate(text.split("\n"), 1):
            if len(line.rstrip("\r")) > LONG_LINE:
                self.findings.append(Finding("long-lines", number, f"{len(line)} columns"))
        for name, first, last in self.functions:
            if last - first + 1 > LONG_FUNCTION:
                self.findings.append(Finding("long-functions", first, f"{name}: {last - first + 1} lines"))
        self.findings.sort(key=lambda finding: (finding.line, finding.kind))

    def directive(self, token):
        """Findings in the body of a #define."""
        match = re.match(r"#\s*define\s+\w+(\([^)]*\))?", token.text)
        if not match:
            return
        first_line = token.line + token.text.count("\n", 0, match.end())
        body = c_source.tokens(token.text[match.end():].replace("#", " "), first_line)
        is_code = any(t.text == ";" or t.text in ASSIGNMENTS for t in body)
        self.walk(body, Level("block" if is_code else "initialiser"))

    def walk(self, tokens, outermost):
        stack = [outermost]
        saved = []  # stacks at each open #if, since every branch starts from the same one
        ternaries = {}
        previous = None
        closed_group = None  # the level of the ")" just read
        for token in tokens:
            if token.kind == "directive":
                word = re.match(r"#\s*(\w*)", token.text).group(1)
                if word in ("if", "ifdef", "ifndef"):
                    saved.append(copy.deepcopy(stack))
                elif word in ("else", "elif") and saved:
                    stack = copy.deepcopy(saved[-1])
                elif word == "endif" and saved:
                    saved.pop()
                self.directive(token)
                continue
            level = stack[-1]
            text = token.text
            group_before, closed_group = closed_group, None
            if text in ("(", "[", "{"):
                if text == "{":
                    new = self.open_brace(stack, previous, group_before, token)
                else:
                    new = Level(self.bracket_kind(text, stack, previous, group_before), previous, token.line)
                level.tokens.append(token)
                stack.append(new)
            elif text in (")", "]", "}"):
                if len(stack) > 1:
                    closed_group = stack.pop()
                    self.close(stack[-1], closed_group, token)
            elif text == ";":
                level.start_statement()
            elif text == ":" and level.kind == "block" and not level.in_ternary:
                level.start_statement()  # a label
            elif text == ",":
                self.comma(level, token)
                level.start_expression()
                level.tokens.append(token)
            else:
                if text == "?":
                    ternaries[token.line] = ternaries.get(token.line, 0) + 1
                    self.ternary(stack, token)
                if text in ("else", "do") and level.kind == "block":
                    level.start_statement()
                else:
                    level.tokens.append(token)
                if text in ASSIGNMENTS:
                    level.ternary_inside = False
            previous = token
        for line, count in ternaries.items():
            if count > 1:
                self.findings.append(Finding("ternary-lines", line, f"{count} ternaries"))

    @staticmethod
    def bracket_kind(text, stack, previous, group_before):
        if text == "[":
            return "index"
        if previous is None:
            return "group"
        if previous.text == "for":
            return "for"
        if previous.text in CONDITIONS:
            return "condition"
        if previous.kind == "word":
            return "group" if previous.text in ("return", "case", "else", "do") else "call"
        if previous.text == ")" and group_before is not None:
            is_cast = group_before.kind == "group" and all(t.text in TYPE_WORDS or t.text == "*"
                                                           for t in group_before.tokens)
            return "group" if is_cast and group_before.tokens else "call"
        if previous.text == "(" and stack[-1].before is not None and stack[-1].before.text == "__attribute__":
            return "call"
        return "call" if previous.text == "]" else "group"

    @staticmethod
    def open_brace(stack, previous, group_before, token):
        level = stack[-1]
        words = [t.text for t in level.tokens]
        kind = "block"
        if level.kind == "initialiser":
            kind = "initialiser"
        elif previous is not None and previous.kind == "text":  # extern "C" {
            kind = "file"
        elif previous is not None and previous.text in ("=", ",", "return", "[", "]"):
            kind = "initialiser"
        elif previous is not None and previous.text == "(":
            kind = "block" if level.kind == "group" else "initialiser"  # a statement expression, or a macro's argument
        elif previous is not None and previous.text == ")" and group_before is not None:
            before = group_before.before
            is_cast = group_before.kind == "group" or (before is not None and before.text == "sizeof")
            kind = "initialiser" if is_cast else "block"
        elif previous is not None and "enum" in words:
            kind = "list"
        elif previous is not None and ("struct" in words or "union" in words):
            kind = "list"
        new = Level(kind, previous, token.line)
        if kind == "block" and level.kind == "file":
            names = [t for t, after in zip(level.tokens, level.tokens[1:]) if t.kind == "word" and after.text == "("]
            names = [t for t in names if t.text not in ("__attribute__", "_Alignas")]
            if names:
                new.function = (names[-1].text, level.tokens[0].line)
        return new

    def close(self, outer, inner, token):
        if inner.function:
            self.functions.append((*inner.function, token.line))
        if token.text == "}" and inner.kind in ("block", "file") and outer.kind in ("block", "file"):
            outer.start_statement()
            return
        if inner.kind in ("condition", "for") and outer.kind == "block":
            outer.start_statement()  # the statement that follows
            return
        if inner.kind != "block" and (inner.in_ternary or inner.ternary_inside):
            outer.ternary_inside = True
        outer.tokens.append(token)

    def comma(self, level, token):
        if level.kind == "block":
            fields = level.tokens and level.tokens[0].text in (".", "[")  # part of an initialiser, in a macro
            joined = not fields and not is_declaration(level.tokens)
        else:
            joined = level.kind in ("group", "condition", "index")
        if joined and not level.comma_found:
            level.comma_found = True
            first = level.tokens[0].line if level.tokens else token.line
            self.findings.append(Finding("commas", first, "statement joined by the comma operator"))

    def ternary(self, stack, token):
        level = stack[-1]
        nested = level.ternary_inside
        for enclosing in reversed(stack):
            if enclosing.in_ternary:
                nested = True
            if enclosing.kind in ("block", "file", "list"):
                break
        if nested:
            self.findings.append(Finding("nested-ternaries", token.line, "a ternary inside another"))
        level.in_ternary = True


def code_lines(text):
    """Lines that hold something else than comments and spaces."""
    return sum(1 for line in c_source.without_comments(text).split("\n") if line.strip())


class Measured(NamedTuple):
    lines: int
    code_lines: int
    functions: int
    findings: list


def measure(text):
    reader = Reader()
    reader.file(text)
    return Measured(text.count("\n"), code_lines(text), len(reader.functions), reader.findings)
