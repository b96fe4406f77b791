"""Check that the package that is installed has all files that the checkout has, and no others.

    python installed.py LIST        names of files in a file, one per line, such as unweave/py.typed

Prints the number of files and the kinds of those that are no code; exits with 1 and names what differs.
"""

import sys
from collections import Counter
from importlib.metadata import files
from pathlib import PurePosixPath


def main() -> None:
    """Compare, and say what there is."""
    with open(sys.argv[1], encoding="utf-8") as listed:
        expected = set(listed.read().split())
    # Scripts, metadata and bytecode are made by the installer.
    paths = [PurePosixPath(str(path)) for path in files("unweave") or ()]
    found = {str(path) for path in paths if path.parts[0] == "unweave" and "__pycache__" not in path.parts}
    if found != expected:
        raise SystemExit(f"missing: {sorted(expected - found)}; too many: {sorted(found - expected)}")
    if "unweave/py.typed" not in found:
        raise SystemExit("py.typed is missing: type checkers would not use the types.")
    data = Counter(PurePosixPath(path).suffix or path for path in found if not path.endswith(".py"))
    kinds = ", ".join(f"{count} {kind}" for kind, count in sorted(data.items()))
    print(f"{len(found)} files, among them {kinds}")


if __name__ == "__main__":
    main()
