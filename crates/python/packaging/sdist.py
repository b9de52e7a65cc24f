"""Checks what is in a source distribution of the Python package.

    python sdist.py FILE --version 0.1.0

It must hold every crate that the module is built of, the lock file, the licences, and the package as the wheel has it;
and nothing that was built.
"""

import argparse
import tarfile
import tomllib
from pathlib import Path, PurePosixPath

from pack import CRATE, LICENSES, sources

# No file that belongs there is so large; fixtures and builds are.
LARGEST = 4_000_000
BUILT = {".so", ".pyc", ".rlib", ".whl"}


def crates(members: dict[str, bytes]) -> dict[str, set[str]]:
    """Returns the crates of ours in the archive, each with those that it needs."""
    found = {}
    for name, content in members.items():
        if PurePosixPath(name).name == "Cargo.toml":
            manifest = tomllib.loads(content.decode())
            if "package" in manifest:
                found[manifest["package"]["name"]] = {
                    crate for crate in manifest.get("dependencies", {}) if ours(crate)
                }
    return found


def ours(crate: str) -> bool:
    """Whether a crate is a member of this workspace."""
    return crate == "icefield" or crate.startswith("icefield-")


def problems(members: dict[str, bytes], version: str) -> list[str]:
    """Returns what is wrong with the files of the archive, whose names begin below its one directory."""
    wrong = []
    described = members.get("PKG-INFO", b"").decode().splitlines()
    for line in ("Name: icefield", f"Version: {version}"):
        if line not in described:
            wrong.append(f"PKG-INFO does not say {line!r}")
    found = crates(members)
    for crate, needed in found.items():
        wrong += [f"{crate} needs {it}, which is not there" for it in needed - found.keys()]
    if "icefield-python" not in found:
        wrong.append("the crate icefield-python is not there")
    names = {PurePosixPath(name).name for name in members}
    for name in ("Cargo.lock", "pyproject.toml", *LICENSES):
        if name not in names:
            wrong.append(f"{name} is not there")
    package = CRATE / "python"
    packed = set(members.values())
    for source in sources(package / "icefield"):
        if source.read_bytes() not in packed:
            wrong.append(f"{source.relative_to(package)} is not there, or differs")
    for name, content in members.items():
        if PurePosixPath(name).suffix in BUILT or len(content) > LARGEST:
            wrong.append(f"{name} ({len(content)} bytes) does not belong there")
    return wrong


def main() -> None:
    """Checks the file that the arguments name."""
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False)
    parser.add_argument("file", type=Path)
    parser.add_argument("--version", required=True)
    args = parser.parse_args()
    members = {}
    with tarfile.open(args.file) as archive:
        for entry in archive:
            content = archive.extractfile(entry)
            if content is not None:
                members[entry.name.partition("/")[2]] = content.read()
    wrong = problems(members, args.version)
    if wrong:
        raise SystemExit("\n".join([f"{args.file.name}:", *wrong]))
    print(f"the source distribution has {len(members)} files and every crate that it needs")


if __name__ == "__main__":
    main()
