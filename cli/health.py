"""Versions of this installation, what confines its child processes, and whether a store works."""

from __future__ import annotations

import os
import platform
import sys
import tempfile
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import NamedTuple

_NEEDED = ("tracehouse", "duckdb", "pyarrow", "numpy", "pydantic", "typer", "rich")
_SERVICE = (
    "starlette", "uvicorn", "httptools", "prometheus-client", "pydantic-settings",
    "python-multipart",
)  # fmt: skip
_OPTIONAL = {
    **dict.fromkeys(_SERVICE, "for serve: pip install '.[serve]' in a checkout"),
    "mcp": "for mcp: pip install '.[mcp]' in a checkout",
    "resvg-py": "for --plot FILE.png: pip install '.[plots]' in a checkout",
    "executorch": "for record and numeric-gap: pip install '.[executorch]' in a checkout",
    "torch": "for record and numeric-gap: pip install '.[executorch]' in a checkout",
    "pyspark": "for spark, with Java 17: pip install '.[spark]' in a checkout",
    "pandas": "for spark and Inspector.to_dataframe: pip install pandas",
}


class Finding(NamedTuple):
    """One check: its subject, its status (ok, missing or wrong), and details."""

    what: str
    status: str
    detail: str


def find_health(store: Path) -> Iterator[Finding]:
    """Checks of packages, the temporary folder, the confinement of children and the store."""
    system = f"{sys.version.split()[0]} on {platform.system()} {platform.machine()}"
    yield Finding("python", "ok", system)
    for name in _NEEDED:
        found = _version(name)
        yield Finding(name, "ok" if found else "wrong", found or "not installed")
    for name, purpose in _OPTIONAL.items():
        found = _version(name)
        yield Finding(name, "ok" if found else "missing", found or purpose)
    yield _temporary_folder()
    yield from _confinement()
    yield _store(store)


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _temporary_folder() -> Finding:
    """Whether there is a folder for data that does not fit into memory."""
    try:
        folder = tempfile.gettempdir()
        room = os.statvfs(folder)
    except OSError as error:
        return Finding("temporary files", "wrong", str(error.strerror))
    free = room.f_bavail * room.f_frsize / 1e9
    return Finding("temporary files", "ok", f"{folder}, {free:,.1f} GB free")


def _confinement() -> Iterator[Finding]:
    """Each layer that confines processes that work for strangers, as such a process tells it."""
    from tracehouse.warehouse.errors import StoreError
    from tracehouse.warehouse.load.children import DecodingChild

    try:
        child = DecodingChild()
        try:
            layers = child.await_start()["layers"]
        finally:
            child.end()
    except (StoreError, EOFError, OSError) as error:
        yield Finding("confinement", "wrong", f"a decoding process does not start: {error}")
        return
    for name, is_active, detail in layers:
        yield Finding(f"confinement: {name}", "ok" if is_active else "missing", detail)


def _store(store: Path) -> Finding:
    from tracehouse.warehouse.errors import WarehouseError
    from tracehouse.warehouse.store import Store

    try:
        if not store.exists():
            return Finding("store", "missing", f"{store}: none yet; 'tracehouse ingest' creates it")
        with Store.open(store, read_only=True) as warehouse:
            (count,) = warehouse.sql("SELECT count(*) AS n FROM dumps")["n"].to_pylist()
    except WarehouseError as error:  # locked, of another version, or no store
        return Finding("store", "wrong", " ".join(str(error).split()))
    except OSError as error:
        return Finding("store", "wrong", f"{store}: {error.strerror}")
    access = "" if os.access(store, os.W_OK) else ", read-only"
    return Finding("store", "ok", f"{store}: {count:,} dumps{access}")
