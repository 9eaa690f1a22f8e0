"""How commands open stores: whose they are, and who has to wait."""

from __future__ import annotations

import os
import stat
import threading
from pathlib import Path

import pytest

from tests.support.command import Run
from tests.support.corpus import CORPUS
from tests.support.cross_section import cross_section
from tracehouse import Warehouse
from tracehouse.warehouse.inbox.inbox import mark_served

DUMP = CORPUS / "real" / "mlp_xnnpack_n1.etdp"
NAMES = ("--device", "pixel8", "--build", "b1", "--model", "mv2")


def modes(store: Path) -> set[int]:
    return {stat.S_IMODE(path.stat().st_mode) for path in (store, *store.iterdir())}


@pytest.fixture
def umask() -> object:
    before = os.umask(0o022)
    yield None
    assert os.umask(before) == 0o022


@pytest.mark.slow
@pytest.mark.usefixtures("umask")
def test_a_store_is_made_for_its_owner_unless_it_is_shared(run: Run, tmp_path: Path) -> None:
    assert run("ingest", DUMP, *NAMES, "--store", tmp_path / "own").code == 0
    assert modes(tmp_path / "own") == {0o700, 0o600}
    assert run("ingest", DUMP, *NAMES, "--shared", "--store", tmp_path / "shared").code == 0
    assert modes(tmp_path / "shared") == {0o755, 0o644}


def test_a_command_that_waits_gets_the_store(run: Run, tmp_path: Path) -> None:
    store = tmp_path / "store"
    other = Warehouse.open_to_write(store, create=True)
    refused = run("ingest", DUMP, *NAMES, "--store", store)
    assert (refused.code, f"locked by process {os.getpid()}" in refused.error) == (1, True)
    threading.Timer(0.1, other.close).start()
    assert run("ingest", DUMP, *NAMES, "--store", store, "--wait", "60").code == 0
    other = Warehouse.open_to_write(store, create=True)
    threading.Timer(0.1, other.close).start()
    question = ("sql", "SELECT count(*) AS n FROM dumps", "--store", store)
    assert run(*question, "--wait", "60").text == "n\n1\n"
    for args in (("query", "dumps"), ("schema",)):
        other = Warehouse.open_to_write(store)
        threading.Timer(0.1, other.close).start()
        assert run(*args, "--store", store, "--wait", "60").code == 0


_NO_SNAPSHOT = "there is no snapshot to read meanwhile ('tracehouse store snapshot' creates one); "
_WAIT = "wait with --wait SECONDS, or stop that process, "


@pytest.mark.parametrize(
    ("args", "told"),
    cross_section(
        [
            (
                (
                    "store",
                    "snapshot",
                ),
                _WAIT,
            ),
            (
                (
                    "store",
                    "compact",
                ),
                _WAIT,
            ),
            (
                (
                    "store",
                    "rebuild",
                ),
                _WAIT,
            ),
            (("store", "snapshot", "--wait", "0.01"), _WAIT.replace("--wait", "a longer --wait")),
            (("query", "dumps"), _NO_SNAPSHOT + _WAIT),
            (
                ("numeric-gap", "1", "2"),
                f"{_NO_SNAPSHOT}wait until that process ends, or stop it, ",
            ),
        ],
        3,
    ),
)
def test_an_error_about_a_store_in_use_names_the_remedy(
    run: Run, tmp_path: Path, args: tuple[str, ...], told: str
) -> None:
    store = tmp_path / "store"
    assert run("ingest", DUMP, *NAMES, "--store", store).code == 0
    with Warehouse.open_to_write(store):
        done = run(*args, "--store", store)
    who = f"error: {store}: locked by process {os.getpid()}"
    assert (done.code, done.error) == (1, f"{who}; {told}and run the command again")


def test_a_command_is_told_that_a_service_keeps_the_store_open(run: Run, tmp_path: Path) -> None:
    with Warehouse.open_to_write(tmp_path / "store", create=True), mark_served(tmp_path / "store"):
        done = run("store", "snapshot", "--store", tmp_path / "store")
    assert done.error.endswith(
        f"locked by process {os.getpid()}; it is a service or 'tracehouse watch', which keeps the "
        "store open: stop it, and run the command again"
    )


@pytest.mark.parametrize(
    "args",
    cross_section(
        [
            ["query", "coverage"],
            *(["store", "archive", "verify"], ["ingest", DUMP, *NAMES]),
            ["status"],
            *(["store", name] for name in ("drain", "snapshot", "compact", "rebuild", "migrate")),
        ],
        3,
    ),
)
def test_a_store_that_cannot_be_looked_at_is_one_line(
    run: Run, tmp_path: Path, args: list[str]
) -> None:
    store = tmp_path / ("x" * 300)  # fails for root, too, as a folder of somebody else's does not
    outcome = run(*args, "--store", store)
    assert (outcome.code, outcome.out) == (1, b"")
    assert outcome.error.startswith(f"error: {store}")
    assert outcome.error.endswith(": File name too long")


@pytest.mark.smoke
@pytest.mark.system
def test_doctor_tells_of_a_store_that_cannot_be_looked_at(run: Run, tmp_path: Path) -> None:
    outcome = run("doctor", "--store", tmp_path / ("x" * 300))
    assert outcome.code == 0
    assert outcome.text.splitlines()[-1].endswith(": File name too long")
