"""The servers: icefield, nginx over the same bytes, and two of Python. Each is a context that gives its URL."""

import contextlib
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

HERE = Path(__file__).parent

# Its best setting: with `tcp_nopush`, small responses wait for the client's acknowledgement. The headers are those of icefield.
NGINX = """
worker_processes {workers};
pid {folder}/nginx.pid;
error_log {folder}/error.log;
daemon off;
{user}
events {{ worker_connections 4096; }}
http {{
    access_log off;
    sendfile on;
    tcp_nopush off;
    tcp_nodelay on;
    keepalive_timeout 65;
    keepalive_requests 1000000000;
    open_file_cache max=10000 inactive=600s;
    open_file_cache_errors on;
    default_type application/octet-stream;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    server {{
        listen 127.0.0.1:{port} backlog=4096;
        root {tree};
        etag on;
        server_tokens off;
{headers}
    }}
}}
"""

# Those that nginx sends by itself, and those that say what a response is of.
OWN = {
    "accept-ranges", "connection", "content-length", "content-type", "date", "etag", "last-modified", "server", "vary",
    "content-encoding", "content-range",
}  # fmt: skip


class Server:
    """A server that runs."""

    def __init__(self, name: str, url: str, process: int) -> None:
        self.name = name
        self.url = url
        self.process = process

    def memory(self) -> int:
        """The most that was ever resident, in bytes."""
        status = Path(f"/proc/{self.process}/status").read_text()
        found = re.search(r"VmHWM:\s+(\d+) kB", status)
        return int(found[1]) << 10 if found else 0

    def head(self, path: str) -> tuple[int, dict[str, str]]:
        """The status and the headers of a response."""
        request = urllib.request.Request(self.url + path, headers={"User-Agent": "bench/1"})
        try:
            with urllib.request.urlopen(request, timeout=60) as response:
                response.read()
                return response.status, {name.lower(): value for name, value in response.headers.items()}
        except urllib.error.HTTPError as error:
            return error.code, {}


def free_port() -> int:
    """A port that is free now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def await_answer(url: str, process: subprocess.Popen[bytes]) -> None:
    """Waits until a server answers anything."""
    for _ in range(600):
        if process.poll() is not None:
            raise SystemExit(f"the server at {url} ended with {process.returncode}")
        try:
            urllib.request.urlopen(url, timeout=5).close()
            return
        except urllib.error.HTTPError:
            return
        except OSError:
            time.sleep(0.1)
    raise SystemExit(f"nothing answers at {url}")


@contextlib.contextmanager
def running(name: str, command: list[str], url: str) -> Iterator[Server]:
    """A process that serves below a URL."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        await_answer(url, process)
        yield Server(name, url, process.pid)
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(timeout=60)


@contextlib.contextmanager
def icefield(program: Path, repository: Path) -> Iterator[Server]:
    """`icefield serve`; its URL is that of the snapshot."""
    command = [str(program), "serve", str(repository), "--port", "0", "--json"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        text = ""
        for line in process.stdout:
            text += line
            if line.rstrip() == "}":
                break
        if not text:
            raise SystemExit(f"{program} does not serve")
        url = json.loads(text)["repositories"][0]["pinned_url"]
        yield Server("icefield", url.rstrip("/"), process.pid)
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(timeout=60)
        process.stdout.close()


@contextlib.contextmanager
def nginx(program: str, folder: Path, tree: Path, headers: dict[str, str]) -> Iterator[Server]:
    """nginx over the directory, with the headers that icefield sends beyond those that it has itself."""
    folder.mkdir()
    port = free_port()
    lines = "\n".join(
        f'        add_header {name} "{value}";' for name, value in headers.items() if name not in OWN and '"' not in value
    )
    config = folder / "nginx.conf"
    text = NGINX.format(
        workers=os.cpu_count(), folder=folder, tree=tree, port=port, headers=lines, user="user root;" if os.getuid() == 0 else ""
    )
    config.write_text(text)
    command = [program, "-p", str(folder), "-c", str(config), "-e", str(folder / "error.log")]
    with running("nginx", command, f"http://127.0.0.1:{port}") as server:
        yield server


@contextlib.contextmanager
def peer(python: Path, name: str, tree: Path) -> Iterator[Server]:
    """A server of Python, by `peers.py`."""
    port = free_port()
    url = f"http://127.0.0.1:{port}" + ("/zarr" if name == "xpublish-zarr" else "")
    with running(name, [str(python), str(HERE / "peers.py"), name, str(tree), str(port)], url) as server:
        yield server


# nginx and wrk, and the library of Debian that wrk needs and few machines have.
PACKAGES = ("nginx", "wrk", "libluajit-5.1-2")


def tools(folder: Path) -> dict[str, str]:
    """nginx and wrk: those that are installed, or Debian's, unpacked into a folder, where no package starts a server."""
    places = ["/usr/sbin", "/usr/local/sbin", f"{folder}/usr/sbin", f"{folder}/usr/bin"]

    def find() -> dict[str, str | None]:
        return {name: shutil.which(name) or shutil.which(name, path=":".join(places)) for name in ("nginx", "wrk")}

    if None in find().values() and shutil.which("apt-get"):
        folder.mkdir(parents=True, exist_ok=True)
        for package in PACKAGES:
            subprocess.run(["apt-get", "download", "--quiet", package], cwd=folder, capture_output=True)
        for archive in folder.glob("*.deb"):
            subprocess.run(["dpkg", "-x", archive, folder], check=True)
    libraries = [str(path.parent) for path in folder.glob("usr/lib/*/libluajit*")]
    if libraries:
        os.environ["LD_LIBRARY_PATH"] = libraries[0]
    found = {name: path for name, path in find().items() if path is not None}
    if len(found) < 2:
        raise SystemExit("nginx and wrk are needed: on Debian, apt-get install nginx wrk")
    return found


def versions(nginx: str, program: Path) -> str:
    """What is compared."""
    told = subprocess.run([nginx, "-v"], capture_output=True, text=True, check=True).stderr
    ours = subprocess.run([program, "--version"], capture_output=True, text=True, check=True).stdout
    return f"{ours.strip()}, {told.strip().removeprefix('nginx version: ')}, Python {sys.version.split()[0]}"
