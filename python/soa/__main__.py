"""`python3 -m soa --version`"""

from __future__ import annotations

import sys

from . import __version__, _core


def main() -> int:
    if sys.argv[1:] == ["--version"]:
        print(f"soa {__version__} ({_core.instruction_set})")
        return 0
    print("usage: python3 -m soa --version\n\nThe package is used from Python: import soa; help(soa)", file=sys.stderr)
    return 0 if sys.argv[1:] in (["-h"], ["--help"]) else 2


if __name__ == "__main__":
    sys.exit(main())
