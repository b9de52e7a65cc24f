"""Checks of a whole repository, repairs by commits, and retention by rules."""

from __future__ import annotations

import datetime
import json
from collections.abc import Iterable, Mapping
from typing import Any

from icefield import _native
from icefield._checks import microseconds, text, texts, truth, whole
from icefield._progress import Progress, Tell, told
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
        """Checks that all objects that branches and tags reach exist and are intact. Changes nothing.

        `read_chunks` also reads chunks, instead of only checking that they exist; `virtual_chunks`
        checks the files of virtual chunks; `tips_only` checks only the snapshots that refs point
        to.
        """
        with told(progress) as tell:
            return _report(self._begin_check(read_chunks, virtual_chunks, tips_only, tell).wait())

    async def fsck_async(
        self,
        *,
        read_chunks: bool = False,
        virtual_chunks: bool = False,
        tips_only: bool = False,
        progress: Progress | None = None,
    ) -> FsckReport:
        """The asynchronous form of `fsck`."""
        async with told(progress) as tell:
            return _report(await self._begin_check(read_chunks, virtual_chunks, tips_only, tell))

    def repair(
        self,
        *,
        dry_run: bool = True,
        drop_virtual_chunks: bool = False,
        restore_branch: str | None = None,
        progress: Progress | None = None,
    ) -> RepairReport:
        """Commits to damaged branches without their unreadable parts; with `dry_run`, only reports those commits.

        `drop_virtual_chunks` also leaves out virtual chunks whose files are missing or changed;
        `restore_branch` moves a branch that points nowhere to the newest intact snapshot that no
        other branch reaches. After Ctrl-C or a cancelled `await`, the repair ends a moment later,
        with each branch either unchanged or repaired.
        """
        only_told = truth(dry_run, "dry_run")
        document = {
            "repair": True,
            "dry_run": only_told,
            "drop_virtual_chunks": truth(drop_virtual_chunks, "drop_virtual_chunks"),
            "restore_branch": None if restore_branch is None else text(restore_branch, "restore_branch"),
        }
        with told(progress) as tell:
            facts = json.loads(_native.fsck(self._storage(), self._repository, json.dumps(document), tell).wait())
        return RepairReport(only_told, facts)

    def retain(
        self,
        *,
        older_than: datetime.datetime | None = None,
        last: int | None = None,
        hourly: int | None = None,
        daily: int | None = None,
        weekly: int | None = None,
        monthly: int | None = None,
        yearly: int | None = None,
        branches: Iterable[str] | None = None,
        delete_expired_branches: bool = False,
        delete_expired_tags: bool = False,
        dry_run: bool = False,
        progress: Progress | None = None,
    ) -> RetentionReport:
        """Expires the snapshots that no rule keeps.

        The rules keep snapshots that are not `older_than` a datetime with a time zone; the `last` N
        snapshots; and the newest snapshot of each of the last N hours that have one (`hourly`), and
        likewise for longer periods. They apply to all branches, or to `branches`. The first
        snapshot and the tips of branches and tags always stay, except for refs that
        `delete_expired_branches` or `delete_expired_tags` deletes. With `dry_run`, the method
        changes nothing. Without a rule, it raises an error and changes nothing.
        """
        document = _policy(
            {
                "last": last,
                "hourly": hourly,
                "daily": daily,
                "weekly": weekly,
                "monthly": monthly,
                "yearly": yearly,
            },
            older_than,
            branches,
            {
                "delete_expired_branches": delete_expired_branches,
                "delete_expired_tags": delete_expired_tags,
                "dry_run": dry_run,
            },
        )
        with told(progress) as tell:
            return _retained(
                truth(dry_run, "dry_run"),
                _native.expire_by_policy(self._repository, document, tell).wait(),
            )

    async def retain_async(
        self,
        *,
        older_than: datetime.datetime | None = None,
        last: int | None = None,
        hourly: int | None = None,
        daily: int | None = None,
        weekly: int | None = None,
        monthly: int | None = None,
        yearly: int | None = None,
        branches: Iterable[str] | None = None,
        delete_expired_branches: bool = False,
        delete_expired_tags: bool = False,
        dry_run: bool = False,
        progress: Progress | None = None,
    ) -> RetentionReport:
        """The asynchronous form of `retain`."""
        document = _policy(
            {
                "last": last,
                "hourly": hourly,
                "daily": daily,
                "weekly": weekly,
                "monthly": monthly,
                "yearly": yearly,
            },
            older_than,
            branches,
            {
                "delete_expired_branches": delete_expired_branches,
                "delete_expired_tags": delete_expired_tags,
                "dry_run": dry_run,
            },
        )
        async with told(progress) as tell:
            return _retained(
                truth(dry_run, "dry_run"),
                await _native.expire_by_policy(self._repository, document, tell),
            )

    def _storage(self) -> _native.Storage:
        from icefield._place import missing

        if self._place is None:
            raise missing()
        return self._place.storage._native()

    def _begin_check(
        self, read_chunks: bool, virtual_chunks: bool, tips_only: bool, tell: Tell | None
    ) -> _native.Task[str]:
        document = {
            "read_chunks": truth(read_chunks, "read_chunks"),
            "virtual_chunks": truth(virtual_chunks, "virtual_chunks"),
            "tips_only": truth(tips_only, "tips_only"),
        }
        return _native.fsck(self._storage(), self._repository, json.dumps(document), tell)


def _policy(
    counts: Mapping[str, object],
    older_than: datetime.datetime | None,
    branches: Iterable[str] | None,
    switches: Mapping[str, object],
) -> str:
    document: dict[str, Any] = {
        name: 0 if value is None else whole(value, name, "invalid-argument")
        for name, value in counts.items()
    }
    document |= {name: truth(value, name) for name, value in switches.items()}
    document["older_than"] = None if older_than is None else microseconds(older_than, "older_than")
    if branches is not None:
        document["branches"] = texts(branches, "branches")
    return json.dumps(document)


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
