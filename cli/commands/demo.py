"""`tracehouse demo`: reports, a comparison and the page, of the real dumps that ship."""

from __future__ import annotations

import os
import shutil
import sys
import threading
import time
import webbrowser
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from importlib.util import find_spec
from pathlib import Path
from shlex import join
from typing import Annotated

import typer

from tracehouse.cli.errors import OutputError, fail
from tracehouse.cli.output.ingest_report import arrival_lines, store_options
from tracehouse.cli.output.store_contents import NIGHTLY_REPORT, find_arrivals
from tracehouse.cli.output.streams import write_lines
from tracehouse.cli.stores import open_to_read

_BUILDS = ("base", "f136")  # of which the second made a layer wider
_SERVICE = "TRACEHOUSE_URL"  # which would be asked instead of the store
_BEGINNING = datetime.min.replace(tzinfo=UTC)
_DETAILS = "<details>"  # where the rest of a report is folded
_START_SECONDS = 60


def demo(
    context: typer.Context,
    out: Annotated[
        Path, typer.Argument(metavar="OUT", help="Folder to write to; a later demo replaces it.")
    ] = Path("tracehouse-demo"),
) -> None:
    """Show what tracehouse does, on the real dumps that ship with it, in a few seconds.

    It writes the dumps to OUT/farm, ingests them into OUT/farm.store, reports what became slower
    up to the newest build, and compares two builds. On a terminal it then serves the page until
    Ctrl-C, and opens it if there is a browser. OUT stays, so that you can ask more.
    """
    farm, store, at = out / "farm", out / "farm.store", ("--store", str(out / "farm.store"))
    _remove_old(farm, store)
    with _without_service():
        _run(context, "sample", str(farm))
        _run(context, "ingest", str(farm), *at)
        if not sys.stderr.isatty():  # where it says so itself
            _write_arrivals(store)
        _report(context, out, at)
        _run(context, "compare", *_BUILDS, *at)
        write_lines(["", f"{out} has the dumps, the store and the report; remove it when done."])
        if sys.stdout.isatty() and find_spec("uvicorn"):
            write_lines(["The page is at the address below; Ctrl-C ends it."])
            threading.Thread(target=_open_page, args=(store,), daemon=True).start()
            _run(context, "serve", "--port", "0", *at)
        else:
            _write_how_to_serve(at)


def _remove_old(farm: Path, store: Path) -> None:
    """Remove the store of an earlier demo.

    Raises:
        OutputError: It is in use, or is no demo's.
    """
    if not store.exists():
        return
    from tracehouse.warehouse.opening.status import read_status

    if not (farm / "truth.json").exists():
        raise OutputError(f"{store}: not made by a demo; wanted a new folder")
    if read_status(store).is_locked:
        raise OutputError(f"{store}: another process has it open; end that, or name another folder")
    shutil.rmtree(store)


@contextmanager
def _without_service() -> Iterator[None]:
    """Let the commands in the body work with the store whatever the environment says."""
    url = os.environ.pop(_SERVICE, None)
    try:
        yield
    finally:
        if url is not None:
            os.environ[_SERVICE] = url


def _run(context: typer.Context, *args: str, shown: tuple[str, ...] | None = None) -> None:
    """Print a command line and run it; a failure ends the demo."""
    write_lines(["", f"$ {join(('tracehouse', *(shown or args)))}"])
    code = context.find_root().command.main(
        args=list(args), prog_name="tracehouse", standalone_mode=False
    )
    if code:
        fail(code)


def _write_arrivals(store: Path) -> None:
    with open_to_read(store) as warehouse:
        arrivals = find_arrivals(warehouse.query("coverage"), since=_BEGINNING)
    write_lines(arrival_lines(arrivals, store_options(store)))


def _report(context: typer.Context, out: Path, at: tuple[str, str]) -> None:
    """Print the nightly report, in a pipe only its beginning, and write it as a page."""
    page, text = out / "report.html", out / "report.md"
    if sys.stdout.isatty():
        _run(context, *NIGHTLY_REPORT, *at)
    else:
        _run(context, *NIGHTLY_REPORT, *at, "--output", str(text), shown=(*NIGHTLY_REPORT, *at))
        write_lines([*text.read_text().partition(_DETAILS)[0].splitlines(), f"... ({text})"])
    _run(context, *NIGHTLY_REPORT, *at, "--output", str(page))


def _open_page(store: Path) -> None:
    """Open the page in a browser, if there is a display, as soon as the service listens."""
    from tracehouse.warehouse.inbox.inbox import find_service

    if sys.platform != "darwin" and not {"DISPLAY", "WAYLAND_DISPLAY"} & os.environ.keys():
        return
    end = time.monotonic() + _START_SECONDS
    while time.monotonic() < end:
        if found := find_service(store):
            webbrowser.open(found.url)
            return
        time.sleep(0.1)


def _write_how_to_serve(at: tuple[str, str]) -> None:
    how = join(("tracehouse", "serve", *at))
    missing = "" if find_spec("uvicorn") else ", which needs pip install 'tracehouse[serve]'"
    write_lines([f"next: {how}{missing}", "The page is then at http://127.0.0.1:8080/"])
