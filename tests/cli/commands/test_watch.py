from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.support.command import COMMAND, ENVIRONMENT, Run
from tests.support.stand_in_service import StandIn, stand_in_service
from tests.support.stores import write
from tests.support.tiny_dumps import stored_event_counts, tiny_dump
from tests.support.waiting import DEADLINE_SECONDS, until

NAMES = ("--device", "pixel8", "--build", "b1", "--model", "mv2")


@pytest.fixture
def farm(tmp_path: Path) -> Path:
    for number in range(3):
        put(tmp_path / "farm" / f"{number}.etdp", tiny_dump(number))
    return tmp_path / "farm"


@pytest.fixture(autouse=True)
def signals() -> Iterator[None]:
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


def put(path: Path, data: bytes) -> None:
    os.utime(write(path, data), (10**9, 10**9))


@pytest.mark.system
def test_watch_once_ingests_only_new_dumps(run: Run, farm: Path, tmp_path: Path) -> None:
    args = ("watch", farm, *NAMES, "--once", "--store", tmp_path / "store")
    done = run(*args)
    assert (done.code, done.out, done.error) == (0, b"", "3 accepted, 0 known, 0 refused")
    put(farm / "late" / "3.etdp", tiny_dump(3))
    done = run(*args)
    assert (done.code, done.error) == (0, "1 accepted, 0 known, 0 refused")
    assert len(stored_event_counts(tmp_path / "store")) == 4


@pytest.mark.system
@pytest.mark.slow
def test_a_manifest_above_the_watched_folder_is_not_applied(
    run: Run, farm: Path, tmp_path: Path
) -> None:
    write(tmp_path / "manifest.json", b'{"device": "d", "build": "b", "model": "m"}')
    done = run("watch", farm, "--once", "--store", tmp_path / "store")
    assert (done.code, "no device, build, model" in done.err) == (1, True)


@pytest.mark.system
@pytest.mark.slow
def test_a_refused_file_fails_once(run: Run, farm: Path, tmp_path: Path) -> None:
    put(farm / "broken.etdp", b"ED00" * 10)
    args = ("watch", farm, *NAMES, "--once", "--store", tmp_path / "store")
    done = run(*args)
    refusal, counts = done.err.splitlines()
    assert (done.code, counts) == (1, "4 accepted, 0 known, 1 refused")
    assert refusal.startswith(f"refused: {farm}/broken.etdp: ")
    assert run(*args).code == 0


def test_watch_with_a_url_uploads_dumps_and_its_state_file_avoids_repeats(
    run: Run, farm: Path, tmp_path: Path
) -> None:
    with stand_in_service() as service:
        args = ("watch", farm, *NAMES, "--once", "--url", service.url)
        assert run(*args).error == "3 accepted, 0 known, 0 refused"
        assert run(*args, "--state", tmp_path / "state").error == "0 accepted, 3 known, 0 refused"
        assert run(*args, "--state", tmp_path / "state").error == "0 accepted, 0 known, 0 refused"
        assert (len(service.held), len(service.asked)) == (3, 2)  # a request for all of them


def test_watch_refuses_a_missing_folder_and_makes_no_store(run: Run, tmp_path: Path) -> None:
    done = run("watch", tmp_path / "none", "--once", "--store", tmp_path / "store")
    assert (done.code, (tmp_path / "store").exists()) == (1, False)
    assert (
        done.error
        == f"error: {tmp_path}/none: cannot be read: No such file or directory; check the path"
    )


def arrived(service: StandIn, count: int) -> Callable[[], bool]:
    return lambda: len(service.held) == count


@pytest.mark.system
@pytest.mark.slow
def test_watch_uploads_new_files_until_it_is_stopped(farm: Path, tmp_path: Path) -> None:
    with stand_in_service() as service:
        args = ["watch", str(farm), *NAMES, "--url", service.url, "--quiet-seconds", "0.2"]
        with subprocess.Popen(
            [*COMMAND, *args], stderr=subprocess.PIPE, text=True, env=ENVIRONMENT
        ) as process:
            until(arrived(service, 3))
            data = tiny_dump(7)
            write(farm / "late.etdp.part", data).rename(farm / "late.etdp")
            until(arrived(service, 4))
            assert data in {held["dump"] for held in service.held.values()}
            process.send_signal(signal.SIGTERM)
            _, told = process.communicate(timeout=DEADLINE_SECONDS)
        assert (process.returncode, told) == (0, "4 accepted, 0 known, 0 refused\n")
