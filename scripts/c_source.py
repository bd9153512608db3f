"""Reads C source: tokens with their lines, without comments; used by the checks in this folder."""
import bisect
import re
from typing import NamedTuple


class Token(NamedTuple):
    kind: str  # word, number, text (string or character), mark (operator or punctuation), directive
    text: str
    line: int


TOKEN = re.compile(
    r"""(?P<comment>/\*.*?\*/|//(?:\\\r?\n|[^\n])*)
      | (?P<text>(?:u8|[uUL])?"(?:\\.|[^"\\\n])*"|[uUL]?'(?:\\.|[^'\\\n])*')
      | (?P<word>[A-Za-z_]\w*)
      | (?P<number>\.?\d(?:[eEpP][+-]|[\w.])*)
      | (?P<mark>\.\.\.|<<=|>>=|->|\+\+|--|&&|\|\||\#\#|[-+*/%&|^=!<>]=|<<|>>|[^\s\w])
    """,
    re.X | re.S)
DIRECTIVE = re.compile(r"#(?:/\*.*?\*/|\\\r?\n|[^\n])*", re.S)


def tokens(text, first_line=1):
    """Tokens of a C text.  A directive (#include, #define ...) is one token, continuation lines included."""
    newlines = [m.start() for m in re.finditer("\n", text)]
    result = []
    position = 0
    start_of_line = True
    while position < len(text):
        char = text[position]
        if char == "\n":
            start_of_line = True
        if char.isspace() or char == "\\":
            position += 1
            continue
        line = first_line + bisect.bisect_left(newlines, position)
        if char == "#" and start_of_line:
            match = DIRECTIVE.match(text, position)
            result.append(Token("directive", match.group(), line))
        else:
            match = TOKEN.match(text, position)
            if match is None:  # an unfinished string: take its quote as a mark
                result.append(Token("mark", char, line))
                position += 1
                continue
            if match.lastgroup != "comment":
                result.append(Token(match.lastgroup, match.group(), line))
                start_of_line = False
            elif "\n" in match.group():
                start_of_line = True
        position = match.end()
    return result


def without_comments(text):
    """The text with comments replaced by spaces; line breaks stay, so line numbers do not change."""
    def blank(match):
        return re.sub(r"[^\n]", " ", match.group()) if match.lastgroup == "comment" else match.group()
    return TOKEN.sub(blank, text)


class Parameter(NamedTuple):
    type: str
    name: str


class Function(NamedTuple):
    name: str
    result: str
    parameters: list
    line: int
    comment: str  # the comment before it, or on its line; empty if there is none


def split_parameters(text):
    """Splits "const double *q, int (*f)(int, int)" at the commas that are not inside parentheses."""
    parts, depth, start = [], 0, 0
    for i, char in enumerate(text):
        depth += (char in "([") - (char in ")]")
        if char == "," and depth == 0:
            parts.append(text[start:i])
            start = i + 1
    parts.append(text[start:])
    return [" ".join(part.split()) for part in parts if part.strip() not in ("", "void")]


def parameter(text):
    """Splits "const double q[3]" into its type and its name."""
    pointer = re.search(r"\(\*\s*(\w+)\s*\)", text)
    if pointer:
        return Parameter(text, pointer.group(1))
    match = re.match(r"(.*?)(\w+)\s*((?:\[[^\]]*\])*)$", text)
    return Parameter((match.group(1) + match.group(3)).strip(), match.group(2)) if match else Parameter(text, "")


PROTOTYPE = re.compile(r"^SOA_API\s+(?P<result>[^;()]*?)\b(?P<name>soa_\w+)\s*\((?P<parameters>[^;]*)\)\s*;", re.M)


def public_functions(text):
    """The functions that a header declares with SOA_API, in order."""
    code = without_comments(text)
    found = []
    for match in PROTOTYPE.finditer(code):
        parameters = [parameter(p) for p in split_parameters(match.group("parameters"))]
        line = code.count("\n", 0, match.start()) + 1
        found.append(Function(match.group("name"), " ".join(match.group("result").split()), parameters, line, ""))
    declared = len(re.findall(r"\bSOA_API\b", re.sub(r"(?m)^#.*", "", code)))
    if declared != len(found):
        raise ValueError(f"{declared} uses of SOA_API, but only {len(found)} functions were recognised")
    return found
