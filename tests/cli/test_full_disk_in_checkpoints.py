"""A disk that becomes full inside DuckDB's checkpoint, after any number of bytes, costs nothing."""

from __future__ import annotations

import shutil
import signal
import subprocess
from contextlib import suppress
from pathlib import Path

import pytest
from httpx2 import Client

from tests.support.command import COMMAND, ENVIRONMENT
from tests.support.cross_section import cross_section
from tests.support.disk_shim import COMPILER, FaultControl, build_shim
from tests.support.failing_checkpoints import environment as failing_environment
from tests.support.failing_checkpoints import full_after
from tests.support.service_process import ServiceProcess
from tests.support.stores import contents, ingest, write
from tests.support.tiny_dumps import tiny_dump
from tests.support.uploads import new_dump, send, sha256_of
from tests.support.waiting import until
from tracehouse import Warehouse
from tracehouse.warehouse.engine.failed_checkpoints import read_failures
from tracehouse.warehouse.errors import DamagedStoreError

pytestmark = pytest.mark.skipif(
    not shutil.which(COMPILER), reason=f"no C compiler ({COMPILER}) to build what makes disks fail"
)
OLD_COUNT = 12
NAMES = ("--device", "pixel8", "--build", "b1", "--model", "mv2")
# Shares of the bytes that a command writes from its first checkpoint on, after which the disk is
# full: before a block, inside one, between blocks, and before headers that make them valid.
SHARES = (0.0, 0.0001, 0.3, 0.77, 0.5, 0.9999)
ENOUGH = 1 << 30
COMMANDS = ("ingest", "drain", "snapshot", "compact")
# Each command at another of the first shares, and all at each share in `make test-all`.
CASES = [
    pytest.param(command, share, marks=[] if place == number else [pytest.mark.slow])
    for number, command in enumerate(COMMANDS)
    for place, share in enumerate(SHARES)
]


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_shim(tmp_path_factory.mktemp("library"))


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A killed writer's store, whose log the next writer merges."""
    folder = tmp_path_factory.mktemp("made")
    dumps = [write(folder / f"{number}.etdp", tiny_dump(number)) for number in range(OLD_COUNT)]
    ingest(folder / "store", *dumps[1:])
    with Warehouse.open(folder / "store") as warehouse:
        warehouse.ingest(dumps[0], manifest={"device": "a", "build": "b", "model": "c"})
        return shutil.copytree(folder / "store", folder / "killed")


@pytest.fixture
def store(made: Path, tmp_path: Path) -> Path:
    return shutil.copytree(made, tmp_path / "store")


class FullDisk:
    """Commands whose disk becomes full in a checkpoint."""

    def __init__(self, library: Path, folder: Path) -> None:
        self._library, self._folder = library, folder
        self.control = FaultControl(folder / "fault")

    def environment(self, byte_count: int) -> dict[str, str]:
        site = failing_environment(self._folder / f"site{byte_count}", full_after(byte_count))
        return {**site, **self.control.environment, "LD_PRELOAD": str(self._library)}

    def run(self, byte_count: int, *args: str | Path) -> tuple[int, str, int]:
        """Exit status and messages of a command, and the bytes that it wrote in checkpoints."""
        done = subprocess.run(
            [*COMMAND, *map(str, args)],
            env=ENVIRONMENT | self.environment(byte_count),
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        return done.returncode, done.stderr, self.control.end()[0]


@pytest.fixture
def disk(library: Path, tmp_path: Path) -> FullDisk:
    return FullDisk(library, tmp_path)


def counted(store: Path) -> int:
    with Warehouse.open(store, read_only=True) as warehouse:
        return warehouse.sql("SELECT sha256 FROM dumps").num_rows


@pytest.mark.parametrize(("command", "share"), CASES)
def test_a_command_says_that_the_disk_is_full_and_works_when_there_is_room(
    store: Path, disk: FullDisk, tmp_path: Path, command: str, share: float
) -> None:
    dump = write(tmp_path / "new.etdp", tiny_dump(99))
    more = [dump, *NAMES] if command == "ingest" else []
    words = [command] if command == "ingest" else ["store", command]
    twin = shutil.copytree(store, tmp_path / "twin")
    code, _, byte_count = disk.run(ENOUGH, *words, "--store", twin, *more)
    assert (code, byte_count > 3 * 4096) == (0, True)
    code, said, _ = disk.run(int(share * byte_count), *words, "--store", store, *more)
    assert (code, said.count("\n")) == (1, 1), said
    assert said.startswith("error: ")
    assert "No space left on device" in said
    assert "committed data is safe" in said
    with suppress(DamagedStoreError):  # if DuckDB tore a block that it writes in place
        assert counted(store) in {OLD_COUNT, OLD_COUNT + 1}
    assert read_failures(store).failure_count == 0  # this is no fault of DuckDB
    code, said, _ = disk.run(ENOUGH + 1, *words, "--store", store, *more)
    assert (code, "error" in said) == (0, False), said
    assert contents(store) == contents(twin)


@pytest.mark.parametrize("share", cross_section(SHARES[2:] + SHARES[:2], 6))
def test_a_service_goes_on_by_itself_when_there_is_room(
    store: Path, disk: FullDisk, tmp_path: Path, share: float
) -> None:
    twin = shutil.copytree(store, tmp_path / "twin")
    _, _, byte_count = disk.run(ENOUGH, "store", "snapshot", "--store", twin)
    sent, settings = [], {"batch_seconds": 0.1, "snapshot_seconds": 0.1}
    environment, log = disk.environment(int(share * byte_count)), tmp_path / "said"
    with (
        ServiceProcess(store, environment, log=log, **settings) as service,
        Client(base_url=service.url) as client,
    ):

        def upload() -> bool:
            answer = send(client, dump := new_dump())
            if answer.is_success:
                sent.append(sha256_of(dump))
            else:
                assert answer.status_code in {503, 507}
            return answer.is_success

        until(lambda: [upload()] and client.get("/healthz").json()["status"] == "stores nothing")
        assert "No space left" in client.get("/healthz").json()["problem"]
        assert disk.control.has_failed()
        disk.control.end()
        until(lambda: client.get("/healthz").json() == {"status": "ok"})
        until(upload)
        until(lambda: client.get("/readyz").status_code == 200)
        service.signal(signal.SIGTERM)
        assert service.wait() == 0
    said = log.read_text()
    assert "Traceback" not in said
    assert f"{store}: works again" in said
    assert read_failures(store).failure_count == 0
    with Warehouse.open(store) as warehouse:
        warehouse.drain()
        assert {*sent} <= {*warehouse.sql("SELECT sha256 FROM dumps")["sha256"].to_pylist()}
    assert sent
