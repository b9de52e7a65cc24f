"""Serving repositories over HTTP from this process: every version as plain Zarr, and the explorer.

```python
import icefield
import xarray

with icefield.serve("weather") as url:
    print(xarray.open_zarr(f"{url}main/"))
```
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from typing import Any

from icefield import _native
from icefield._checks import truth, whole
from icefield._urls import refused
from icefield.repository import Repository
from icefield.storage import Storage, local_filesystem_storage

__all__ = ["Server", "serve"]

_NAME = "repository"


class Server:
    """A running server, which `serve` starts. As a context manager, it gives its URL and stops at the end."""

    __slots__ = ("_server", "_urls")

    _server: _native.Server
    _urls: dict[str, str]

    @property
    def url(self) -> str:
        """The URL below which the repository lies, with a slash at its end: append a branch, `tag:NAME` or the
        id of a snapshot, and a slash. Of several repositories, it is the URL of the server; `urls` has theirs.
        """
        if len(self._urls) == 1:
            return next(iter(self._urls.values()))
        return f"{self._server.url}/"

    @property
    def urls(self) -> dict[str, str]:
        """The URL of each repository, by its name."""
        return dict(self._urls)

    @property
    def explorer(self) -> str:
        """The URL of the page that shows the repositories in a browser."""
        return f"{self._server.url}/-/explore/"

    def stop(self) -> None:
        """Stops the server. Requests that are being answered go on, for ten seconds at most."""
        self._server.stop().wait()

    async def stop_async(self) -> None:
        """The asynchronous form of `stop`."""
        await self._server.stop()

    def __enter__(self) -> str:
        return self.url

    def __exit__(self, *_: object) -> None:
        self.stop()

    async def __aenter__(self) -> str:
        return self.url

    async def __aexit__(self, *_: object) -> None:
        await self.stop_async()

    def __repr__(self) -> str:
        return f"<icefield.serving.Server at {self.url}>"


def serve(
    *repositories: Repository | Storage | str | os.PathLike[str],
    port: int = 0,
    host: str = "127.0.0.1",
    token: str | None = None,
    public: bool = False,
    cors: Sequence[str] = (),
    hosts: Sequence[str] = (),
) -> Server:
    """Serves repositories over HTTP for reading, until the server is stopped.

    Every version is plain Zarr below `{url}{ref}/`, for programs that know no icefield. A repository may
    be an open one, a storage, or the path of a directory. Several are told apart by the last part of
    their location. Virtual chunks are served if the repository was opened with access to them.

    `port=0` takes a free port. `host` is an IP address to listen on. Unless only this computer reaches it,
    the server needs a `token` that clients send, or `public=True`. `cors` names websites whose scripts
    may read (`"*"`: all), `hosts` the names by which clients call the server.
    """
    if not repositories:
        raise refused("there is no repository to serve: pass one")
    opened = [_opened(it) for it in repositories]
    locations = ["" if it._place is None else str(it._place.storage) for it in opened]
    what = {
        "host": _text(host, "host"),
        "port": whole(port, "port", "invalid-argument", high=65535),
        "token": None if token is None else _text(token, "token"),
        "public": truth(public, "public"),
        "cors": _texts(cors, "cors"),
        "hosts": _texts(hosts, "hosts"),
    }
    names = _names(repositories)
    rows = list(zip(names, locations, [it._repository for it in opened], strict=True))
    server = Server.__new__(Server)
    server._server = _native.serve(rows, json.dumps(what)).wait()
    server._urls = {name: f"{server._server.url}{base}" for name, base in server._server.bases}
    return server


def _opened(repository: Repository | Storage | str | os.PathLike[str]) -> Repository:
    if isinstance(repository, Repository):
        return repository
    if isinstance(repository, Storage):
        return Repository.open(repository)
    if isinstance(repository, (str, os.PathLike)):
        path = os.fspath(repository)
        if "://" in path:
            raise refused("a URL is opened with a storage: pass `Repository.open(s3_storage(…))` or the like")
        return Repository.open(local_filesystem_storage(path))
    raise TypeError(
        f"a repository to serve must be a Repository, a Storage or a path, not {type(repository).__name__}"
    )


def _names(repositories: Sequence[Any]) -> list[str]:
    """Names for URLs: the last part of a path, or a number."""
    names: list[str] = []
    for number, repository in enumerate(repositories):
        name = f"{_NAME}-{number}" if len(repositories) > 1 else _NAME
        if isinstance(repository, (str, os.PathLike)):
            name = os.path.basename(os.path.abspath(os.fspath(repository))) or name
        names.append(name)
    return names


def _text(value: str, name: str) -> str:
    if not isinstance(value, str):
        raise TypeError(f"`{name}` must be a str, not {type(value).__name__}")
    return value


def _texts(values: Sequence[str], name: str) -> list[str]:
    if isinstance(values, str):
        raise TypeError(f"`{name}` must be a list of texts, not a str")
    return [_text(value, name) for value in values]
