"""Packs a wheel from a native module that is built already, and the package beside it.

    python pack.py --library lib_native.so --version 0.1.0 --out DIRECTORY

maturin would do the same after a build of its own, of this crate alone: with other features of the crates below it than
the workspace has, so that everything is compiled again. Nothing here asks for a compiler. The same files in give the same
bytes out. The path of the wheel is the last line printed.
"""

import argparse
import base64
import hashlib
import shutil
import subprocess
import tempfile
import tomllib
import zipfile
from pathlib import Path
from typing import Any

from native import Native, read_native

CRATE = Path(__file__).resolve().parent.parent
ROOT = CRATE.parent.parent
LICENSES = ("LICENSE-APACHE", "LICENSE-MIT")
# One build for this version and all later ones: the stable ABI that the crate is built against.
PYTHON_TAG = "cp311"
ABI_TAG = "abi3"
# Zip files know no time before this one; a fixed time makes equal wheels equal files.
TIME = (1980, 1, 1, 0, 0, 0)
NOT_PACKED = {".so", ".pyc"}


class Wheel:
    """A zip file that keeps the record of what is in it."""

    def __init__(self, path: Path, info: str, level: int) -> None:
        self.path = path
        self.info = info
        self._record: list[str] = []
        self._zip = zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=level)

    def add(self, name: str, content: bytes, mode: int = 0o644) -> None:
        """Adds a file, and its line in the record."""
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        self._record.append(f"{name},sha256={digest},{len(content)}")
        self._write(name, content, mode)

    def close(self) -> None:
        """Writes the record, which names itself without a hash."""
        name = f"{self.info}/RECORD"
        lines = [*self._record, f"{name},,"]
        self._write(name, ("\n".join(lines) + "\n").encode(), 0o644)
        self._zip.close()

    def _write(self, name: str, content: bytes, mode: int) -> None:
        entry = zipfile.ZipInfo(name, TIME)
        entry.compress_type = zipfile.ZIP_DEFLATED
        entry.external_attr = (0o100000 | mode) << 16
        self._zip.writestr(entry, content)


def metadata(project: dict[str, Any], version: str, readme: str) -> str:
    """Returns the core metadata, in the version that knows licence expressions."""
    lines = [
        "Metadata-Version: 2.4",
        f"Name: {project['name']}",
        f"Version: {version}",
        f"Summary: {project['description']}",
        f"License-Expression: {project['license']}",
        *(f"License-File: {name}" for name in LICENSES),
        f"Keywords: {','.join(project['keywords'])}",
        *(f"Classifier: {classifier}" for classifier in project["classifiers"]),
        f"Requires-Python: {project['requires-python']}",
        *(f"Requires-Dist: {requirement}" for requirement in project["dependencies"]),
    ]
    for extra, requirements in project["optional-dependencies"].items():
        lines.append(f"Provides-Extra: {extra}")
        lines += [f'Requires-Dist: {it} ; extra == "{extra}"' for it in requirements]
    lines += [f"Project-URL: {name}, {url}" for name, url in project["urls"].items()]
    lines.append("Description-Content-Type: text/markdown; charset=UTF-8; variant=GFM")
    return "\n".join(lines) + "\n\n" + readme


def sources(package: Path) -> list[Path]:
    """Returns the files of the package, except what was built or cached in it."""
    found = []
    for path in sorted(package.rglob("*")):
        hidden = any(part.startswith(".") for part in path.relative_to(package).parts)
        cached = "__pycache__" in path.parts or path.suffix in NOT_PACKED
        if path.is_file() and not hidden and not cached:
            found.append(path)
    return found


def pack(library: Path, native: Native, version: str, out: Path, level: int) -> Path:
    """Writes the wheel and returns its path."""
    with (CRATE / "pyproject.toml").open("rb") as file:
        project = tomllib.load(file)["project"]
    name = project["name"]
    info = f"{name}-{version}.dist-info"
    tag = f"{PYTHON_TAG}-{ABI_TAG}-{native.platform}"
    path = out / f"{name}-{version}-{tag}.whl"
    package = CRATE / "python" / name
    wheel = Wheel(path, info, level)
    packed = sources(package)
    for needed in ("__init__.py", "py.typed", "_native.pyi"):
        if package / needed not in packed:
            raise SystemExit(f"the package has no {needed}")
    for source in packed:
        wheel.add(source.relative_to(package.parent).as_posix(), source.read_bytes())
    wheel.add(f"{name}/_native.{ABI_TAG}.so", library.read_bytes(), mode=0o755)
    readme = (CRATE / project["readme"]).read_text(encoding="utf-8")
    wheel.add(f"{info}/METADATA", metadata(project, version, readme).encode())
    commands = [f"{command} = {entry}" for command, entry in project["scripts"].items()]
    scripts = "\n".join(["[console_scripts]", *commands]) + "\n"
    wheel.add(f"{info}/entry_points.txt", scripts.encode())
    described = f"Wheel-Version: 1.0\nGenerator: icefield\nRoot-Is-Purelib: false\nTag: {tag}\n"
    wheel.add(f"{info}/WHEEL", described.encode())
    for license_name in LICENSES:
        content = (ROOT / license_name).read_bytes()
        wheel.add(f"{info}/licenses/{license_name}", content)
    wheel.close()
    return path


def stripped(library: Path, scratch: Path) -> Path:
    """Returns the library without what only a debugger reads, most of its bytes; with it if nothing here can strip."""
    strip = shutil.which("strip")
    if strip is None:
        return library
    smaller = scratch / library.name
    subprocess.run([strip, "--strip-unneeded", "-o", smaller, library], check=True)
    return smaller


def main() -> None:
    """Packs what the arguments name."""
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False)
    parser.add_argument("--library", type=Path, required=True)
    parser.add_argument("--version", required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--level", type=int, default=6, help="of the compression, up to 9 (6)")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        library = stripped(args.library, Path(scratch))
        native = read_native(library)
        native.check()
        print(native.described())
        path = pack(library, native, args.version, args.out, args.level)
        sizes = path.stat().st_size / 1e6, library.stat().st_size / 1e6
    print(f"the wheel has {sizes[0]:.1f} MB; the native module in it has {sizes[1]:.1f} MB")
    print(path)


if __name__ == "__main__":
    main()
