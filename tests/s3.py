"""An S3 server on this machine, for tests of what is on object storage."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

SETTINGS = {"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test", "AWS_DEFAULT_REGION": "us-east-1"}


@contextmanager
def s3_server() -> Iterator[str]:
    """The address of a server; meanwhile the environment leads drivers to it."""
    pytest.importorskip("s3fs", reason="the driver of s3:// is not installed; the extra remote brings it")
    moto = pytest.importorskip("moto.server", reason="no S3 server to test with; the extra dev brings moto[server]")
    forget_drivers()
    running = moto.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    running.start()
    before = {name: os.environ.get(name) for name in (*SETTINGS, "AWS_ENDPOINT_URL")}
    try:
        host, port = running.get_host_and_port()
        os.environ.update(SETTINGS, AWS_ENDPOINT_URL=f"http://{host}:{port}")
        yield os.environ["AWS_ENDPOINT_URL"]
    finally:
        for name, value in before.items():
            os.environ.pop(name) if value is None else os.environ.update({name: value})
        running.stop()
        forget_drivers()


def forget_drivers() -> None:
    """Forget the drivers of another server, with which fsspec would go on."""
    import s3fs

    from refinery.storage import drivers, open

    s3fs.S3FileSystem.clear_instance_cache()
    drivers.forget()
    open._opened.cache_clear()


def make_bucket(name: str) -> str:
    """A new bucket's URL."""
    import s3fs

    s3fs.S3FileSystem(skip_instance_cache=True).mkdir(name)
    return f"s3://{name}"
