"""Packs the program into an archive, with what a shell and `man` are told about it.

    python archive.py --program icefield --version 0.1.0 --target x86_64-unknown-linux-gnu --out DIRECTORY

The same files in give the same bytes out. The path of the archive is the last line printed.
"""

import argparse
import gzip
import io
import subprocess
import tarfile
import tempfile
from pathlib import Path

from pack import LICENSES, ROOT, stripped

DOCUMENTS = ("README.md", "CHANGELOG.md", *LICENSES)
# The names that the shells look for.
COMPLETIONS = {
    "bash": "icefield.bash",
    "zsh": "_icefield",
    "fish": "icefield.fish",
    "powershell": "_icefield.ps1",
}
# 1980-01-01, as in the wheel.
TIME = 315532800


def contents(program: Path, scratch: Path) -> dict[str, bytes]:
    """Returns the files of the archive by their paths."""
    pages = scratch / "man1"
    subprocess.run([program, "man", pages], check=True)
    found = {"icefield": stripped(program, scratch).read_bytes()}
    found |= {name: (ROOT / name).read_bytes() for name in DOCUMENTS}
    for shell, name in COMPLETIONS.items():
        words = [str(program), "completions", shell]
        said = subprocess.run(words, check=True, stdout=subprocess.PIPE)
        found[f"completions/{name}"] = said.stdout
    found |= {f"man/man1/{page.name}": page.read_bytes() for page in pages.iterdir()}
    return found


def write(path: Path, files: dict[str, bytes], level: int) -> None:
    """Writes a compressed archive of files that belong to no user and have no time of their own."""
    with (
        path.open("wb") as out,
        gzip.GzipFile("", "wb", compresslevel=level, fileobj=out, mtime=0) as compressed,
        tarfile.open(fileobj=compressed, mode="w", format=tarfile.USTAR_FORMAT) as archive,
    ):
        for name, content in sorted(files.items()):
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            entry.mtime = TIME
            entry.mode = 0o755 if name.endswith("/icefield") else 0o644
            archive.addfile(entry, io.BytesIO(content))


def main() -> None:
    """Packs what the arguments name."""
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False)
    parser.add_argument("--program", type=Path, required=True)
    parser.add_argument("--version", required=True)
    parser.add_argument("--target", required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--level", type=int, default=9)
    args = parser.parse_args()
    name = f"icefield-{args.version}-{args.target}"
    path = args.out / f"{name}.tar.gz"
    with tempfile.TemporaryDirectory() as scratch:
        files = contents(args.program.resolve(), Path(scratch))
    write(path, {f"{name}/{file}": content for file, content in files.items()}, args.level)
    sizes = path.stat().st_size / 1e6, len(files["icefield"]) / 1e6
    print(f"the archive has {sizes[0]:.1f} MB; the program in it has {sizes[1]:.1f} MB")
    print(path)


if __name__ == "__main__":
    main()
