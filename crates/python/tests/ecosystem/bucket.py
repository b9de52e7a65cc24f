"""A bucket of an S3 server on the loopback: the program that the variable `ICEFIELD_TEST_S3` names."""

import json
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from chosen import ic

if TYPE_CHECKING:
    import icefield

__all__ = ["TOKEN", "Bucket", "bucket"]

TOKEN = "FwoGZXIvYXdzEBYaDsessiontoken"
"""The token of the session that the keys seem to be of. The server does not look at it, but it is sent with each request."""


@dataclass(frozen=True)
class Bucket:
    """Where the server is, and its keys."""

    name: str
    endpoint: str
    key: dict[str, Any]

    @property
    def secrets(self) -> tuple[str, str]:
        """The secrets of the bucket, which no output may hold: the key and the token."""
        return self.key["secret_access_key"], TOKEN

    def storage(self, prefix: str) -> "icefield.Storage":
        """A storage in the bucket with the keys."""
        return ic.s3_storage(
            bucket=self.name,
            prefix=prefix,
            region="us-east-1",
            endpoint_url=self.endpoint,
            allow_http=True,
            force_path_style=True,
            **self.key,
        )

    def store(self) -> Any:
        """How the configuration of a repository names the server for virtual chunks."""
        return ic.s3_store(
            region="us-east-1",
            endpoint_url=self.endpoint,
            allow_http=True,
            s3_compatible=True,
            force_path_style=True,
        )


@contextmanager
def bucket() -> Iterator[Bucket]:
    """The one bucket of a server that ends with the block, or with this process."""
    server = subprocess.Popen(
        [os.environ["ICEFIELD_TEST_S3"]], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert server.stdin is not None and server.stdout is not None
    try:
        facts = json.loads(server.stdout.readline())
        key = {
            "access_key_id": facts["access_key"],
            "secret_access_key": facts["secret_key"],
            "session_token": TOKEN,
        }
        yield Bucket(facts["bucket"], facts["endpoint"], key)
    finally:
        server.stdin.close()
        server.stdout.close()
        server.wait()
