"""A Zarr store of ours for zarr-python, as thin as it can be: every call is a line to `icefield-probe tree`.

The standard form of the store, where zarr-python's own stores differ from it, is bent here: ranges past the end are
cut, children are told by their names, and `delete` of a directory is left to `delete_dir`.
"""

import base64
import json
import os
import subprocess
import threading

from zarr.abc.store import OffsetByteRequest, RangeByteRequest, Store, SuffixByteRequest
from zarr.core.buffer import Buffer, default_buffer_prototype


class TreeStore(Store):
    supports_writes = True
    supports_deletes = True
    supports_partial_writes = False
    supports_listing = True

    def __init__(self, root, *, read_only=False):
        super().__init__(read_only=read_only)
        self.root = str(root)
        self._process = None
        self._lock = threading.Lock()

    def with_read_only(self, read_only=False):
        return type(self)(self.root, read_only=read_only)

    def __getstate__(self):
        return {**self.__dict__, "_process": None, "_lock": None}

    def __setstate__(self, state):
        self.__dict__.update(state)
        self._lock = threading.Lock()

    def __eq__(self, other):
        return isinstance(other, type(self)) and self.root == other.root and self.read_only == other.read_only

    def __str__(self):
        return f"tree://{self.root}"

    def __repr__(self):
        return f"TreeStore('{self}')"

    def close(self):
        if self._process is not None:
            self._process.stdin.close()
            self._process.stdout.close()
            self._process.wait()
            self._process = None
        super().close()

    def __del__(self):
        if getattr(self, "_process", None) is not None:
            self.close()

    def ask(self, op, **arguments):
        with self._lock:
            if self._process is None:
                self._process = subprocess.Popen(
                    [os.environ["ICEFIELD_PROBE"], "tree", self.root],
                    stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8",
                )
            self._process.stdin.write(json.dumps({"op": op, **arguments}) + "\n")
            self._process.stdin.flush()
            answer = json.loads(self._process.stdout.readline())
        if "error" in answer:
            raise ValueError(answer["error"])
        return answer["ok"]

    def _range(self, key, byte_range):
        """The range in the strict form, or nothing if the value is absent."""
        if byte_range is None:
            return ()
        size = self.ask("size", key=key)
        if size is None:
            return None
        if isinstance(byte_range, RangeByteRequest):
            return (min(byte_range.start, size), min(byte_range.end, size))
        if isinstance(byte_range, OffsetByteRequest):
            return (min(byte_range.offset, size), None)
        if isinstance(byte_range, SuffixByteRequest):
            return (max(size - byte_range.suffix, 0), None)
        raise ValueError(f"Unexpected byte_range, got {byte_range}.")

    async def get(self, key, prototype=None, byte_range=None):
        if not self._is_open:
            await self._open()
        wanted = self._range(key, byte_range)
        if wanted is None:
            return None
        value = self.ask("get", key=key, range=wanted or None)
        prototype = prototype or default_buffer_prototype()
        return None if value is None else prototype.buffer.from_bytes(base64.b64decode(value))

    async def get_partial_values(self, prototype, key_ranges):
        return [await self.get(key, prototype, byte_range) for key, byte_range in key_ranges]

    async def exists(self, key):
        return self.ask("size", key=key) is not None

    async def getsize(self, key):
        size = self.ask("size", key=key)
        if size is None:
            raise FileNotFoundError(key)
        return size

    async def set(self, key, value):
        await self._put("set", key, value)

    async def set_if_not_exists(self, key, value):
        await self._put("set_if_not_exists", key, value)

    async def _put(self, op, key, value):
        if not self._is_open:
            await self._open()
        self._check_writable()
        if not isinstance(value, Buffer):
            raise TypeError(f"TreeStore.set(): `value` must be a Buffer instance. Got an instance of {type(value)} instead.")
        self.ask(op, key=key, value=base64.b64encode(value.to_bytes()).decode())

    async def delete(self, key):
        self._check_writable()
        self.ask("erase", key=key)

    async def delete_dir(self, prefix):
        self._check_writable()
        self.ask("erase_prefix", prefix=folder(prefix))

    async def clear(self):
        self._check_writable()
        self.ask("erase_prefix", prefix="")

    async def list(self):
        for key in self.ask("list", prefix=""):
            yield key

    async def list_prefix(self, prefix):
        # zarr-python's prefixes are of characters, not of segments.
        for key in self.ask("list", prefix=""):
            if key.startswith(prefix):
                yield key

    async def list_dir(self, prefix):
        keys, prefixes = self.ask("list_dir", prefix=folder(prefix))
        for name in keys + prefixes:
            yield name.rstrip("/").rsplit("/", 1)[-1]


def folder(prefix):
    """The prefix in the standard form: `a` and `a/` are both accepted."""
    prefix = prefix.strip("/")
    return prefix + "/" if prefix else ""
