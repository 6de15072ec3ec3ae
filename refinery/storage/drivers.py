"""Drivers of fsspec for URLs, and their errors in the words of refinery."""

from __future__ import annotations

import errno
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

from refinery.common.extras import install_command
from refinery.common.redaction import hide
from refinery.errors import DataError, OutputError, RefineryError
from refinery.storage.urls import scheme_of

# An error of refinery for an error of a driver at a URL.
Translation = Callable[[str, Exception], Exception]

# Schemes of databases, which are no files.
_DATABASES = ("postgres", "postgresql", "mysql", "sqlite", "duckdb", "mongodb", "jdbc")
_HUB_DATASET = re.compile(r"hf://datasets/([\w.-]+/[\w.-]+)")


def filesystem(url: str, options: dict[str, Any] | None = None) -> tuple[Any, str]:
    """The file system of a URL, and the path in it. Raises DataError that names the package to install."""
    scheme = scheme_of(url)
    try:
        import fsspec
    except ImportError:
        raise DataError(
            f"{url}: {scheme}:// needs fsspec, which is not installed: {install_command('remote')}"
        ) from None
    try:
        fs, path = fsspec.url_to_fs(url, **(options or {}))
    except ImportError as error:
        raise DataError(
            f"{url}: there is no driver for {scheme}:// ({said(error)}). {install_command('remote')} installs the driver of s3://"
        ) from None
    except ValueError as error:
        cure = (
            ". Name a database as a source: dataset: {type: sql, database: ..., query: SELECT ...}"
            if scheme in _DATABASES
            else ""
        )
        raise DataError(f"{url}: {said(error)}{cure}") from None
    return fs, path.rstrip("/")


@lru_cache(maxsize=64)
def _driver(place: str) -> Any:
    return filesystem(place)[0]


def located(url: str) -> tuple[Any, str]:
    """The driver for a URL, one for all threads, and the path in it. Raises DataError when there is none."""
    scheme, _, rest = url.partition("://")
    fs = _driver(f"{scheme}://{rest.partition('/')[0]}")
    return fs, path_in_driver(url)


def path_in_driver(url: str) -> str:
    """The path of a URL as its driver writes paths, without a last slash."""
    from fsspec.core import strip_protocol

    return str(strip_protocol(url)).rstrip("/")


def forget() -> None:
    """Drop all drivers, because the environment has changed."""
    _driver.cache_clear()


def said(error: BaseException) -> str:
    """An error of a driver in one line."""
    return " ".join(str(error).split()) or type(error).__name__


@contextmanager
def driver_errors(url: str, translation: Translation) -> Iterator[None]:
    """Translate any error of a driver; errors of refinery pass."""
    try:
        yield
    except RefineryError:
        raise
    except Exception as error:
        raise translation(url, error) from error


def of_input(url: str, error: Exception) -> Exception:
    """The DataError for an input, with its URL and the cure."""
    if isinstance(error, FileNotFoundError):
        return DataError(f"{url}: there is no such object or folder")
    if isinstance(error, PermissionError):
        cure = "The driver takes credentials from the environment"
        return DataError(f"{url}: no access ({hide(said(error))}). {cure}")
    return DataError(f"{url}: cannot be read: {hide(said(error))}{_cure_of_hub(url)}")


def _cure_of_hub(url: str) -> str:
    """Advice for a dataset of the Hugging Face Hub that cannot be reached."""
    match = _HUB_DATASET.match(url)
    if match is None:
        return ""
    return (
        f". A source {{type: huggingface, path: {match[1]}}} is read without the Hub from a folder of that name, or from the "
        f"cache of Hugging Face, which `hf download {match[1]} --repo-type dataset` fills where the Hub can be reached"
    )


def of_store(url: str, error: Exception) -> Exception:
    """The OSError for an object of a store, with its URL."""
    if isinstance(error, FileNotFoundError):
        return FileNotFoundError(errno.ENOENT, "there is no such object", url)
    if isinstance(error, OSError):
        return OSError(error.errno or errno.EIO, error.strerror or said(error), url)
    return OSError(errno.EIO, said(error), url)


def of_statistics(what: str, kind: type[DataError | OutputError]) -> Translation:
    """The error for a statistics file; what: the action that failed, such as `listed`."""
    return lambda url, error: kind(f"{url}: cannot be {what}: {said(error)}")
