"""A repository checked as a whole, repaired by commits, and thinned out by rules."""

from __future__ import annotations

import datetime
import json
from collections.abc import Iterable
from typing import Any

from icefield import _native
from icefield._checks import microseconds, text, whole
from icefield._progress import Progress, told
from icefield._repository.handle import Handle
from icefield._values.reports import Finding, FsckReport, RepairReport, RetentionReport

__all__ = ["Checking"]


class Checking(Handle):
    """Checks, repairs and retention."""

    def fsck(
        self,
        *,
        read_chunks: bool = False,
        virtual_chunks: bool = False,
        tips_only: bool = False,
        progress: Progress | None = None,
    ) -> FsckReport:
        """Checks that all that branches and tags reach is there and whole. Nothing is changed.

        `read_chunks` reads chunks, too, instead of looking whether they are there; `virtual_chunks` looks at the files
        that virtual chunks are in; `tips_only` leaves the past out.
        """
        return _report(self._begin_check(read_chunks, virtual_chunks, tips_only, progress).wait())

    async def fsck_async(
        self,
        *,
        read_chunks: bool = False,
        virtual_chunks: bool = False,
        tips_only: bool = False,
        progress: Progress | None = None,
    ) -> FsckReport:
        """As `fsck`, to be awaited."""
        return _report(await self._begin_check(read_chunks, virtual_chunks, tips_only, progress))

    def repair(
        self,
        *,
        dry_run: bool = True,
        drop_virtual_chunks: bool = False,
        restore_branch: str | None = None,
        progress: Progress | None = None,
    ) -> RepairReport:
        """Makes commits that leave out what cannot be read; with `dry_run`, says what they would be.

        `drop_virtual_chunks` leaves out virtual chunks whose files are gone or changed, too; `restore_branch` gives a
        branch that points nowhere the newest whole snapshot that no other branch reaches.
        """
        document = {
            "repair": True,
            "dry_run": bool(dry_run),
            "drop_virtual_chunks": bool(drop_virtual_chunks),
            "restore_branch": None if restore_branch is None else text(restore_branch, "restore_branch"),
        }
        facts = json.loads(_native.fsck(self._storage(), json.dumps(document), told(progress)).wait())
        return RepairReport(bool(dry_run), facts)

    def retain(self, **rules: Any) -> RetentionReport:
        """Releases the snapshots that no rule keeps.

        Rules: `older_than` (a datetime with a time zone; younger ones stay), `last`, `hourly`, `daily`, `weekly`,
        `monthly`, `yearly` (the newest snapshot of each of so many hours that have one, and so on), `branches` (names;
        all by default), `delete_expired_branches`, `delete_expired_tags`, `dry_run`, `progress`. The first snapshot and
        what branches and tags point to stay. Without a rule it raises an error, and releases nothing.
        """
        return self._retained(bool(rules.get("dry_run")), self._begin_retention(rules).wait())

    async def retain_async(self, **rules: Any) -> RetentionReport:
        """As `retain`, to be awaited."""
        return self._retained(bool(rules.get("dry_run")), await self._begin_retention(rules))

    def _storage(self) -> _native.Storage:
        from icefield._place import missing

        if self._place is None:
            raise missing()
        return self._place.storage._native()

    def _begin_check(
        self, read_chunks: bool, virtual_chunks: bool, tips_only: bool, progress: Progress | None
    ) -> _native.Task[str]:
        document = {
            "read_chunks": bool(read_chunks),
            "virtual_chunks": bool(virtual_chunks),
            "tips_only": bool(tips_only),
        }
        return _native.fsck(self._storage(), json.dumps(document), told(progress))

    def _begin_retention(self, rules: dict[str, Any]) -> _native.Task[str]:
        known = {*_COUNTS, *_SWITCHES, "older_than", "branches", "progress"}
        for name in rules:
            if name not in known:
                raise TypeError(f"there is no rule {name!r}; there are {', '.join(sorted(known))}")
        document: dict[str, Any] = {
            name: whole(rules.get(name) or 0, name, "invalid-argument") for name in _COUNTS
        }
        document |= {name: bool(rules.get(name)) for name in _SWITCHES}
        bound: datetime.datetime | None = rules.get("older_than")
        document["older_than"] = None if bound is None else microseconds(bound, "older_than")
        branches: Iterable[str] | None = rules.get("branches")
        if branches is not None:
            document["branches"] = [text(name, "branches") for name in branches]
        return _native.expire_by_policy(
            self._repository, json.dumps(document), told(rules.get("progress"))
        )

    @staticmethod
    def _retained(dry_run: bool, document: str) -> RetentionReport:
        facts = json.loads(document)
        return RetentionReport(
            dry_run=dry_run,
            released=facts["released"],
            kept=facts["kept"],
            deleted_branches=facts["branches"],
            deleted_tags=facts["tags"],
            stuck={it["id"]: it["reason"] for it in facts["stuck"]},
        )


_COUNTS = ("last", "hourly", "daily", "weekly", "monthly", "yearly")
_SWITCHES = ("delete_expired_branches", "delete_expired_tags", "dry_run")


def _report(document: str) -> FsckReport:
    facts = json.loads(document)
    findings = [
        Finding(
            severity=it["severity"],
            kind=it["kind"],
            key=it["key"],
            rule=it["rule"],
            path=it["path"],
            next=it["next"],
            facts=it,
        )
        for it in facts["findings"]
    ]
    return FsckReport(facts["sound"], facts["damage"], facts["warnings"], findings, facts)
