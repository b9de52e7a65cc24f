"""What a native module asks of the machine that loads it, read from the file itself.

    python native.py FILE...
    python native.py --at-most 2.17 FILE...

The first prints it, for a shared library or for those in a wheel, and fails if it asks for more than a wheel may. The
second fails if a program or a shared library asks for a newer glibc, or for a library that not every Linux has.
"""

import argparse
import re
import tempfile
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from elftools.elf.dynamic import DynamicSection
from elftools.elf.elffile import ELFFile
from elftools.elf.gnuversions import GNUVerNeedSection
from elftools.elf.sections import SymbolTableSection

# The libraries of every Linux with glibc, by PEP 600. No libpython: the interpreter that loads the module has the symbols.
EVERYWHERE = {
    "libc.so.6",
    "libm.so.6",
    "libdl.so.2",
    "libpthread.so.0",
    "librt.so.1",
    "libgcc_s.so.1",
    "libstdc++.so.6",
    "ld-linux-x86-64.so.2",
    "ld-linux-aarch64.so.1",
}
# The oldest that a Rust program runs with; installers know no tag of much older ones.
OLDEST_GLIBC = (2, 17)
MACHINES = {"EM_X86_64": "x86_64", "EM_AARCH64": "aarch64"}


@dataclass(frozen=True)
class Native:
    """A native module: its machine, the libraries it needs, and the newest glibc symbol among those it uses."""

    machine: str
    libraries: tuple[str, ...]
    glibc: tuple[int, int]
    python_symbols: int
    initializers: tuple[str, ...]

    @property
    def platform(self) -> str:
        """The platform tag: the oldest glibc that has every symbol."""
        major, minor = self.glibc
        return f"manylinux_{major}_{minor}_{self.machine}"

    def described(self) -> str:
        """What it asks for, in one line."""
        version = ".".join(map(str, self.glibc))
        return (
            f"the native module needs glibc {version} and {', '.join(self.libraries)}; "
            f"it takes {self.python_symbols} symbols from the interpreter and links none"
        )

    def check(self) -> None:
        """Raises `SystemExit` if this cannot be in a wheel for every Linux with that glibc."""
        self.check_libraries()
        if self.initializers != ("PyInit__native",):
            raise SystemExit(f"it initialises {self.initializers}, not `_native`")

    def check_libraries(self) -> None:
        """Raises `SystemExit` if it is linked to a library that not every Linux has."""
        foreign = [name for name in self.libraries if name not in EVERYWHERE]
        if foreign:
            raise SystemExit(
                f"it is linked to {', '.join(foreign)}, which not every Linux has; "
                "an interpreter is linked unless PYO3_BUILD_EXTENSION_MODULE is set"
            )


def read_native(path: Path) -> Native:
    """Reads the dynamic section, the symbols and the versions of symbols of a shared library."""
    with path.open("rb") as file:
        elf = ELFFile(file)
        machine = MACHINES[elf["e_machine"]]
        libraries: set[str] = set()
        versions: set[tuple[int, int]] = set()
        used = 0
        initializers = []
        for section in elf.iter_sections():
            if isinstance(section, DynamicSection):
                libraries |= needed(section)
            elif isinstance(section, GNUVerNeedSection):
                for _, auxiliaries in section.iter_versions():
                    for auxiliary in auxiliaries:
                        found = re.fullmatch(r"GLIBC_(\d+)\.(\d+)(\.\d+)?", auxiliary.name)
                        if found is not None:
                            versions.add((int(found[1]), int(found[2])))
            elif isinstance(section, SymbolTableSection) and section.name == ".dynsym":
                for symbol in section.iter_symbols():
                    defined = symbol["st_shndx"] != "SHN_UNDEF"
                    if defined and symbol.name.startswith("PyInit_"):
                        initializers.append(symbol.name)
                    used += not defined and re.match(r"_?Py[A-Z_]", symbol.name) is not None
    if not versions:
        raise SystemExit(f"{path} uses no glibc")
    glibc = max(*versions, OLDEST_GLIBC)
    return Native(machine, tuple(sorted(libraries)), glibc, used, tuple(initializers))


def needed(section: DynamicSection) -> set[str]:
    """Returns the libraries that the loader brings along."""
    tags: Iterator[Any] = section.iter_tags()
    return {tag.needed for tag in tags if tag["d_tag"] == "DT_NEEDED"}


def check_age(path: Path, newest: str) -> None:
    """Raises `SystemExit` if a program or library asks for a newer glibc than that."""
    native = read_native(path)
    native.check_libraries()
    version = ".".join(map(str, native.glibc))
    if native.glibc > tuple(map(int, newest.split("."))):
        raise SystemExit(f"{path} needs glibc {version}, and may need {newest} at most")
    print(f"{path.name} needs glibc {version} and {', '.join(native.libraries)}")


def main() -> None:
    """Checks the files that the arguments name."""
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False)
    parser.add_argument("--at-most", metavar="GLIBC")
    parser.add_argument("files", nargs="+")
    args = parser.parse_args()
    for name in args.files:
        if args.at_most is not None:
            check_age(Path(name), args.at_most)
            continue
        if not name.endswith(".whl"):
            native = read_native(Path(name))
            native.check()
            print(native.described())
            continue
        with tempfile.TemporaryDirectory() as scratch, zipfile.ZipFile(name) as wheel:
            for member in wheel.namelist():
                if member.endswith(".so"):
                    native = read_native(Path(wheel.extract(member, scratch)))
                    native.check()
                    print(native.described())
                    # A tag may promise less than the file needs of no machine, and never more.
                    tagged = re.search(r"manylinux_(\d+)_(\d+)_", name)
                    if tagged is None or (int(tagged[1]), int(tagged[2])) < native.glibc:
                        raise SystemExit(f"{name} says that it runs where its module does not load")


if __name__ == "__main__":
    main()
