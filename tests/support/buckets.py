"""A stand-in for S3 on loopback: moto's server in a separate process, and an empty bucket."""

from __future__ import annotations

import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

import pyarrow.fs as pafs

from tests.support.waiting import until

_BUCKET = "farm"


class S3Bucket(NamedTuple):
    """A bucket; its keys are arbitrary, as the stand-in accepts all."""

    port: int

    def uri(self, path: str, options: str = "") -> str:
        """The address of a place in it."""
        at = f"scheme=http&endpoint_override=127.0.0.1:{self.port}&region=us-east-1{options}"
        return f"s3://any:secret@{_BUCKET}/{path}?{at}"


@contextmanager
def serving_s3() -> Iterator[S3Bucket]:
    """An empty bucket, whose server ends with the body."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        until(lambda: _answers(port))
        bucket = S3Bucket(port)
        files, _ = pafs.FileSystem.from_uri(bucket.uri("", "&allow_bucket_creation=true"))
        files.create_dir(_BUCKET)
        yield bucket
    finally:
        server.kill()
        server.wait()


def _answers(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0
