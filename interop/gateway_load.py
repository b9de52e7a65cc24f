"""A thousand connections to `icefield serve` at once: no error, and bounded memory. A case of `gateway.py`."""

import asyncio
import hashlib
import resource
import socket
import time

import numpy as np
import zarr
import zarr.codecs
import zarr.storage

from gateway_lib import serving
from lib import case, icefield

CONNECTIONS = 1000
# One address may have 768 connections.
ADDRESSES = 4
CHUNK = 1 << 20
CHUNKS = 16
# What chunks may take of the memory of the server, and what all else takes: less than the chunks of all connections have.
BOUND = (256 + 128) << 20


class Client:
    """One connection, kept alive."""

    def __init__(self, number, host):
        self.number = number
        self.host = host

    async def connect(self, port):
        plain = socket.socket()
        # What lies in the kernel is not in the server: a small window keeps chunks there.
        plain.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 16)
        plain.bind((f"127.0.0.{1 + self.number % ADDRESSES}", 0))
        plain.setblocking(False)
        await asyncio.get_running_loop().sock_connect(plain, ("127.0.0.1", port))
        self.reader, self.writer = await asyncio.open_connection(sock=plain)

    async def ask(self, method, path, *headers, before_reading=None):
        """The status, the headers, and the bytes."""
        head = [f"{method} {path} HTTP/1.1", f"Host: {self.host}", "User-Agent: load/1", *headers, "", ""]
        self.writer.write("\r\n".join(head).encode())
        if before_reading:
            await before_reading.wait()
        lines = (await self.reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
        fields = {name.lower(): value for name, value in (line.split(": ", 1) for line in lines[1:] if line)}
        status = int(lines[0].split()[1])
        is_empty = method == "HEAD" or status == 304
        body = b"" if is_empty else await self.reader.readexactly(int(fields["content-length"]))
        return status, fields, body

    async def read(self, base, digests, connected, asked):
        """The requests of one client; returns what was not as it must be."""
        status, fields, _ = await self.ask("HEAD", f"{base}/noise/zarr.json")
        faults = [] if status == 200 else [("HEAD", status)]
        # No one goes on before all are connected and have had an answer.
        await connected.wait()
        at = self.number % CHUNKS
        chunk = f"{base}/noise/c/{at}"
        # No one takes a chunk before all have asked for one.
        status, fields, body = await self.ask("GET", chunk, before_reading=asked)
        if (status, hashlib.sha256(body).digest()) != (200, digests[at]):
            faults.append(("GET", status, len(body)))
        tag = fields.get("etag", "")
        for expected, path, *headers in (
            (304, chunk, f"If-None-Match: {tag}"), (206, chunk, "Range: bytes=-100"), (404, f"{base}/noise/c/{CHUNKS}"),
            (200, f"{base}/zarr.json"), (404, f"{base}/.zgroup"),
        ):  # fmt: skip
            status, _, _ = await self.ask("GET", path, *headers)
            if status != expected:
                faults.append((path, status))
        self.writer.close()
        return faults


async def load(server, base, digests):
    host = server.url.removeprefix("http://")
    clients = [Client(number, host) for number in range(CONNECTIONS)]
    await asyncio.gather(*(client.connect(int(host.rsplit(":")[1])) for client in clients))
    connected, asked = asyncio.Barrier(CONNECTIONS + 1), asyncio.Barrier(CONNECTIONS)
    running = asyncio.gather(*(client.read(base, digests, connected, asked) for client in clients), return_exceptions=True)
    waiting = asyncio.ensure_future(connected.wait())
    done, _ = await asyncio.wait([waiting, running], return_when=asyncio.FIRST_COMPLETED)
    assert waiting in done, "a client ended before all were connected"
    return [fault for faults in await running for fault in (faults if isinstance(faults, list) else [repr(faults)])]


def all_are_gone(server):
    """Whether only connections for the metrics are left, once the server has got to the ends of the others."""
    for _ in range(600):
        if server.metric("icefield_http_connections ") <= 2:
            return True
        time.sleep(0.1)
    return False


@case
def a_thousand_connections_have_no_error_and_bounded_memory(work):
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 8192), hard))
    noise = np.random.default_rng(32).integers(0, 256, CHUNK * CHUNKS, dtype="uint8")
    root = zarr.create_group(zarr.storage.LocalStore(work / "tree"), zarr_format=3)
    root.create_array("noise", shape=noise.shape, dtype="uint8", chunks=(CHUNK,), compressors=None)[...] = noise
    repository = work / "noise"
    icefield("init", repository)
    icefield("import", work / "tree", repository)
    digests = [hashlib.sha256(part).digest() for part in noise.reshape(CHUNKS, CHUNK)]
    with serving(repository) as server:
        before = server.memory()
        # A connection that is never answered is a failure.
        faults = asyncio.run(asyncio.wait_for(load(server, f"/{server.id}", digests), 300))
        after = server.memory()
        print(f"memory: {before >> 20} MiB before, at most {after >> 20} MiB with {CONNECTIONS} connections")
        assert not faults, (len(faults), faults[:5])
        assert after < BOUND, f"{after >> 20} MiB"
        assert all_are_gone(server), "connections that their clients closed stay open"
