"""Servers on the loopback interface that tests read from."""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import quote, unquote

import pytest
from obstore.store import S3Store


class WebServer:
    """A web server that shows a directory, and what it was asked for. It lists the names in folders as many servers do."""

    def __init__(self, directory: Path) -> None:
        self.asked: list[str] = []
        asked = self.asked

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_: object) -> None:
                pass

            def do_HEAD(self) -> None:
                self.do_GET()

            def do_GET(self) -> None:
                asked.append(self.path)
                path = directory / unquote(self.path).lstrip("/")
                if path.is_dir() and self.path.endswith("/"):
                    data = _listing(path)
                elif path.is_file():
                    data = path.read_bytes()
                else:
                    self.send_error(404)
                    return
                tag = f'"{hashlib.sha256(data).hexdigest()}"'
                if self.headers.get("If-None-Match") == tag:
                    self.send_response(304)
                    self.send_header("ETag", tag)
                    self.end_headers()
                    return
                size, start, end = len(data), 0, len(data)
                if wanted := re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range", "")):
                    start = int(wanted[1])
                    end = min(int(wanted[2]) + 1, size) if wanted[2] else size
                    self.send_response(206)
                    self.send_header("Content-Range", f"bytes {start}-{end - 1}/{size}")
                else:
                    self.send_response(200)
                self.send_header("Content-Type", "text/html" if path.is_dir() else "application/octet-stream")
                self.send_header("ETag", tag)
                self.send_header("Last-Modified", formatdate(path.stat().st_mtime, usegmt=True))
                self.send_header("Content-Length", str(end - start))
                self.end_headers()
                if self.command == "GET":
                    self.wfile.write(data[start:end])

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def since(self) -> set[str]:
        """The folders of the objects that were asked for since the last question."""
        found = {path.split("/")[1] for path in self.asked}
        self.asked.clear()
        return found

    def close(self) -> None:
        """Ends it."""
        self.server.shutdown()
        self.server.server_close()


def _listing(folder: Path) -> bytes:
    """A page with a link for each name, and one that leads up."""
    names = ["..", *sorted(path.name + "/" * path.is_dir() for path in folder.iterdir())]
    links = [f'<li><a href="{quote(name)}">{name}</a></li>' for name in names]
    return f"<!DOCTYPE html><html><body><ul>{''.join(links)}</ul></body></html>".encode()


@dataclass(frozen=True)
class Bucket:
    """The bucket of an S3 server, as obstore reaches it."""

    name: str
    endpoint: str
    store: S3Store


@contextmanager
def bucket(environment: pytest.MonkeyPatch) -> Iterator[Bucket]:
    """Starts the server that the variable `ICEFIELD_TEST_S3` names, until the block ends, and gives `environment` its keys."""
    server = subprocess.Popen(
        [os.environ["ICEFIELD_TEST_S3"]], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert server.stdin is not None and server.stdout is not None
    try:
        facts = json.loads(server.stdout.readline())
        environment.setenv("AWS_ACCESS_KEY_ID", facts["access_key"])
        environment.setenv("AWS_SECRET_ACCESS_KEY", facts["secret_key"])
        environment.setenv("AWS_REGION", "us-east-1")
        environment.delenv("AWS_SESSION_TOKEN", raising=False)
        store = S3Store(facts["bucket"], endpoint=facts["endpoint"], client_options={"allow_http": True})
        yield Bucket(facts["bucket"], facts["endpoint"], store)
    finally:
        server.stdin.close()
        server.stdout.close()
        server.wait()
