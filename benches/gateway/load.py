"""The load: wrk, with one thread and connections that are kept, which asks for one path after the other."""

import json
import subprocess
import urllib.parse
from dataclasses import dataclass
from pathlib import Path

from servers import Server

HERE = Path(__file__).parent


@dataclass(frozen=True)
class Measured:
    """What one turn of a server gave."""

    rate: float
    p50: float
    p99: float
    requests: int
    errors: int


@dataclass(frozen=True)
class Case:
    """One kind of request: its paths, and the status that must come."""

    name: str
    paths: tuple[str, ...]
    status: int = 200
    connections: int = 16
    # Whether the tag of the first path goes along.
    is_conditional: bool = False
    # The least ratio of requests in a time to those of nginx.
    target: float | None = 0.7
    # Whether servers of Python are asked, too.
    for_peers: bool = False


def measure(wrk: str, server: Server, case: Case, seconds: float, folder: Path) -> Measured:
    """Sends the requests of a case for a while, after one of each kind whose status is looked at."""
    status, fields = server.head(case.paths[0])
    expected = 200 if case.is_conditional else case.status
    if status != expected:
        raise SystemExit(f"{server.name} answers {case.paths[0]} with {status}, and {expected} is expected")
    prefix = urllib.parse.urlsplit(server.url).path
    paths, headers = folder / "paths", folder / "headers"
    paths.write_text("".join(f"{prefix}{path}\n" for path in case.paths))
    sent = ["User-Agent: bench/1"]
    if case.is_conditional:
        sent.append(f"If-None-Match: {fields['etag']}")
    headers.write_text("".join(f"{line}\n" for line in sent))
    root = server.url.removesuffix(prefix) if prefix else server.url
    command = [
        wrk, "--threads", "1", "--connections", str(case.connections), "--duration", f"{max(1, round(seconds))}s",
        "--timeout", "30s", "--script", str(HERE / "load.lua"), root, "--", str(paths), str(headers),
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0 or "@@" not in done.stdout:
        raise SystemExit(f"wrk on {server.name}: {done.stderr or done.stdout}")
    found = json.loads(done.stdout.split("@@")[1])
    errors = sum(found[kind] for kind in ("connect", "read", "write", "timeout"))
    # wrk counts statuses from 400 on; of 304 none must be a whole response.
    errors += abs(found["status"] - (found["requests"] if case.status >= 400 else 0))
    if case.status == 304 and found["requests"] and found["bytes"] / found["requests"] > 2000:
        errors += found["requests"]
    return Measured(
        rate=found["requests"] / found["microseconds"] * 1e6,
        p50=found["p50"],
        p99=found["p99"],
        requests=found["requests"],
        errors=errors,
    )
