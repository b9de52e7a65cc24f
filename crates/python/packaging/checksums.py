"""Writes the SHA-256 of every file of a directory, in the form that `sha256sum --check` reads.

    python checksums.py DIRECTORY
"""

import hashlib
import sys
from pathlib import Path

NAME = "SHA256SUMS"


def main() -> None:
    """Writes the list beside the files."""
    directory = Path(sys.argv[1])
    lines = []
    for path in sorted(directory.iterdir()):
        if path.is_file() and path.name != NAME:
            lines.append(f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n")
    (directory / NAME).write_text("".join(lines), encoding="utf-8")


if __name__ == "__main__":
    main()
