"""Has the reference open many repositories in one process and look for every acknowledged commit.

    python interop/verify_repos.py COPY ...
    python interop/verify_repos.py --below DIRECTORY      # each directory in it is a copy
    python interop/verify_repos.py --below DIRECTORY --at-least 200

A copy is a directory with

    repo/               the repository, as a killed writer left it
    acknowledged*.txt   ids of commits that were acknowledged on `main`, one a line, by one writer each. A line
                        without its newline was cut off by the kill: nobody has seen it, it does not count
    branches.txt        the branches there are, one a line; only `main`, if there is no such file

Checked is that the repository opens, lists those branches and no other, that its tags can be listed, that
`main` has each acknowledged commit exactly once in its ancestry, and that each key at its tip can be read.
"""

import argparse
import traceback
from pathlib import Path

import reference
from lib import leave


def acknowledged(copy):
    """The ids in all files of a copy that a writer finished writing."""
    ids = []
    for file in sorted(copy.glob("acknowledged*.txt")):
        ids += [line for line in file.read_text().split("\n")[:-1] if line]
    return ids


def verify(copy):
    """Checks one copy and returns how many commits were acknowledged and how many are in the history."""
    repository = reference.open(copy / "repo")
    expected = copy / "branches.txt"
    branches = set(expected.read_text().split("\n")) - {""} if expected.exists() else {"main"}
    listed = set(repository.list_branches())
    assert listed == branches, f"branches {sorted(listed)}, expected {sorted(branches)}"
    repository.list_tags()
    history = reference.ancestry(repository)
    assert len(set(history)) == len(history), "a snapshot is in the ancestry twice"
    ids = acknowledged(copy)
    assert len(set(ids)) == len(ids), "an id was acknowledged twice"
    lost = set(ids) - set(history)
    assert not lost, f"{len(lost)} of {len(ids)} acknowledged commits are lost: {sorted(lost)[:3]}"
    store = repository.readonly_session("main").store
    for key in reference.keys(store):
        assert reference.read(store, key) is not None, f"{key} is listed and cannot be read"
    return len(ids), len(history) - 1


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("copies", nargs="*", type=Path, metavar="COPY")
    parser.add_argument("--below", type=Path, metavar="DIRECTORY")
    parser.add_argument(
        "--at-least", type=int, default=1, metavar="N", help="fail if there are fewer copies than that"
    )
    arguments = parser.parse_args()
    copies = arguments.copies
    if arguments.below:
        copies += sorted(path for path in arguments.below.iterdir() if (path / "repo").is_dir())
    failed = commits = found = 0
    for copy in copies:
        try:
            acked, there = verify(copy)
        except Exception:
            failed += 1
            print(f"FAIL {copy}")
            traceback.print_exc()
        else:
            commits += acked
            found += there
    print(f"{commits} acknowledged commits, all among {found} in the history, in {len(copies) - failed} repositories")
    print(f"{len(copies) - failed} passed, {failed} failed, 0 skipped")
    # Too few copies mean that whoever was to make them did not.
    if len(copies) < arguments.at_least:
        print(f"FAIL {len(copies)} copies, at least {arguments.at_least} were expected")
        return 1
    return 1 if failed or not commits else 0


if __name__ == "__main__":
    leave(main())
