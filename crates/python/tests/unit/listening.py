"""A web server on the loopback that keeps the requests that it gets."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path


@dataclass(frozen=True)
class Asked:
    """A request: its method, path with query, and headers by lower-case names."""

    method: str
    path: str
    headers: dict[str, str]


@dataclass
class Server:
    """Answers with files of a directory, or with one text for everything.

    With a list, it is a bucket that seems to accept what is put into it.
    """

    url: str = ""
    answer: bytes | None = None
    root: Path | None = None
    accepts: bool = False
    listed: bytes | None = None
    asked: list[Asked] = field(default_factory=list)

    def headers(self, name: str) -> set[str]:
        """The values of a header over all requests."""
        return {it.headers.get(name, "") for it in self.asked}


@contextmanager
def listening(
    *, answer: bytes | None = None, root: Path | None = None, listed: bytes | None = None
) -> Iterator[Server]:
    server = Server(answer=answer, root=root, accepts=listed is not None, listed=listed)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            self._respond()

        do_HEAD = do_PUT = do_POST = do_DELETE = do_GET

        def _respond(self) -> None:
            headers = {name.lower(): value for name, value in self.headers.items()}
            server.asked.append(Asked(self.command, self.path, headers))
            self.rfile.read(int(headers.get("content-length", 0)))
            body = b"" if server.accepts and self.command == "PUT" else self._body()
            if body is None:
                self.send_response(404)
                self.send_header("content-length", "0")
                self.end_headers()
                return
            start, stop = 0, len(body)
            asked = headers.get("range", "").removeprefix("bytes=")
            if asked:
                first, _, last = asked.partition("-")
                if first:
                    start, stop = int(first), min(stop, int(last or stop) + 1)
                else:
                    start = max(0, stop - int(last))
                self.send_response(206)
                self.send_header("content-range", f"bytes {start}-{stop - 1}/{len(body)}")
            else:
                self.send_response(200)
            self.send_header("content-length", str(stop - start))
            self.send_header("last-modified", "Mon, 01 Jan 2024 00:00:00 GMT")
            self.send_header("etag", '"one"')
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(body[start:stop])

        def _body(self) -> bytes | None:
            if server.listed is not None and "list-type=" in self.path:
                return server.listed
            if server.answer is not None:
                return server.answer
            assert server.root is not None
            file = server.root / self.path.split("?")[0].lstrip("/")
            return file.read_bytes() if file.is_file() else None

        def log_message(self, *_: object) -> None:
            pass

    http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.url = f"http://127.0.0.1:{http.server_port}"
    thread = threading.Thread(target=http.serve_forever, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        http.shutdown()
        http.server_close()
        thread.join()
