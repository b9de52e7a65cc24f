"""Writing chunks that share objects anew."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import TypedDict, Unpack

from icefield import _native
from icefield._checks import text, texts, truth
from icefield._progress import Progress, Tell, told
from icefield._repository.handle import Handle
from icefield._values.repack import RepackReport

__all__ = ["RepackOptions", "Repacking"]


class RepackOptions(TypedDict, total=False):
    """The options of `repack`."""

    branch: str
    fill: float
    small: bool
    order: Iterable[str]
    z_order: bool
    below: int | None
    message: str | None
    dry_run: bool
    progress: Progress | None


class Repacking(Handle):
    """Repacking."""

    def repack(
        self, arrays: Iterable[str] = (), **options: Unpack[RepackOptions]
    ) -> RepackReport:
        """Copies small chunks, as they are, into new shared objects (packs), in one commit to `branch` (`main`).

        Chunks are copied out of objects of which less than `fill` (0.5) is in use by the branch;
        with `small` also small chunks in small objects, if they are in fewer objects then; with
        `order`, names of dimensions, the slowest first, all small chunks that do not lie in that
        order; with `z_order` those that do not lie along a space-filling curve. `arrays` limits
        this to some arrays. Chunks and objects are small below `below` bytes, by default as the
        configuration says, else 1 MiB.

        No array changes, and no concurrent commit collides with that. Earlier snapshots refer to
        the old objects until they expire. With `dry_run`, the method writes nothing and returns the
        figures. After Ctrl-C or a cancelled `await`, it ends a moment later, without a commit
        unless that is already being published.
        """
        with told(options.get("progress")) as tell:
            return _report(self._begin_repack(arrays, options, tell).wait())

    async def repack_async(
        self, arrays: Iterable[str] = (), **options: Unpack[RepackOptions]
    ) -> RepackReport:
        """The asynchronous form of `repack`."""
        async with told(options.get("progress")) as tell:
            return _report(await self._begin_repack(arrays, options, tell))

    def _begin_repack(
        self, arrays: Iterable[str], options: RepackOptions, tell: Tell | None
    ) -> _native.Task[str]:
        unknown = options.keys() - RepackOptions.__annotations__.keys()
        if unknown:
            raise TypeError(f"repack() takes no {min(unknown)!r}")
        z_order = truth(options.get("z_order", False), "z_order")
        order = texts(options.get("order", ()), "order")
        if z_order and order:
            raise ValueError("`order` and `z_order` exclude each other")
        message, below = options.get("message"), options.get("below")
        if below is not None and int(below) < 1:
            raise ValueError(f"`below` is a number of bytes from 1 on, not {below!r}")
        document = {
            "arrays": texts(arrays, "arrays"),
            "branch": text(options.get("branch", "main"), "branch"),
            "fill": float(options.get("fill", 0.5)),
            "small": truth(options.get("small", False), "small"),
            "order": order,
            "z_order": z_order,
            "below": None if below is None else int(below),
            "message": None if message is None else text(message, "message"),
            "dry_run": truth(options.get("dry_run", False), "dry_run"),
        }
        return _native.repack(self._repository, json.dumps(document), tell)


def _report(document: str) -> RepackReport:
    return RepackReport(**json.loads(document))
