"""The three layers of tests, and the guard that enforces them.

A unit test starts no process and opens no database, a store test starts no process, and a system
test may do anything. A test is in the layer of its folder or file below, unless a mark on it
or on its module (`pytestmark`) names another.
"""

from __future__ import annotations

import sys
from functools import wraps
from pathlib import PurePosixPath
from typing import Any

import duckdb

LAYERS = ("unit", "store", "system")

# The longest path that contains a test file decides.
FOLDERS = {
    ".": "unit",
    "action": "system",
    "browser": "system",
    "cli": "store",
    "cli/commands/test_doctor.py": "system",
    "cli/commands/test_record.py": "system",
    "cli/handover/test_inboxes.py": "system",
    "cli/output/test_interrupt.py": "system",
    "cli/serve": "system",
    "cli/serve/page": "store",
    "cli/serve/page/test_sql_box.py": "system",
    "cli/serve/access/test_audit.py": "unit",
    "cli/serve/http/test_bodies.py": "unit",
    "cli/serve/http/test_joined_writes.py": "unit",
    "cli/serve/http/test_line_queue.py": "unit",
    "cli/serve/http/test_logs.py": "unit",
    "cli/serve/http/test_negotiation.py": "unit",
    "cli/serve/test_settings.py": "unit",
    "cli/serve/uploads/test_form_reader.py": "unit",
    "cli/serve/uploads/test_record_stream.py": "store",
    "cli/test_against_a_service.py": "system",
    "cli/upkeep/test_verifying.py": "system",
    "cli/upkeep/test_running.py": "system",
    "cli/test_demo.py": "system",
    "cli/test_failed_checkpoints.py": "system",
    "cli/test_failing_disk.py": "system",
    "cli/test_full_disk_in_checkpoints.py": "system",
    "cli/test_paired_recording.py": "system",
    "cli/test_uploading_document.py": "system",
    "clients": "system",
    "executorch": "system",
    "queries/explain": "store",
    "queries/numeric_gap/test_stored_dumps.py": "store",
    "queries/report": "store",
    "queries/test_answers.py": "store",
    "queries/timeline/test_dumps.py": "store",
    "spark": "system",
    "sql": "store",
    "test_deploy.py": "system",
    "test_doc_blocks.py": "store",
    "test_schemas.py": "store",
    "test_wheel.py": "system",
    "tools": "system",
    "tools/test_pictures.py": "unit",
    "tracehouse/test_client.py": "system",
    "warehouse": "store",
    "warehouse/children": "unit",
    "warehouse/children/test_confinement.py": "system",
    "warehouse/load/test_children.py": "system",
    "warehouse/sandbox/test_workers.py": "system",
    "warehouse/spark/test_session.py": "system",
    "warehouse/statistics": "unit",
    "warehouse/inbox/test_drain.py": "system",
    "warehouse/inbox/test_served.py": "system",
    "warehouse/test_consumer.py": "system",
}

_STARTS_A_PROCESS = frozenset(
    {"os.exec", "os.fork", "os.forkpty", "os.posix_spawn", "os.system", "subprocess.Popen"}
)


class LayerError(AssertionError):
    """A test does something that its layer does not allow."""


class LayerGuard:
    """Fails tests that do something of a higher layer.

    Attributes:
        layer: The layer of the running test; "system" between tests.
        broken: Actions of the test that its layer does not allow.
    """

    def __init__(self) -> None:
        """Nothing runs yet."""
        self.layer = "system"
        self.broken: list[str] = []

    def require(self, layer: str, action: str) -> None:
        """Refuse an action unless the running test is of this layer or a higher one.

        Raises:
            LayerError: The test is of a lower layer.
        """
        if LAYERS.index(self.layer) < LAYERS.index(layer):
            self.broken.append(f"a {self.layer} test {action}: mark it with pytest.mark.{layer}")
            raise LayerError(self.broken[-1])

    def watch(self) -> None:
        """Check every process that Python starts and every database that it opens from now on."""
        sys.addaudithook(self._see)
        connect = duckdb.connect

        @wraps(connect)
        def connect_(*args: Any, **options: Any) -> duckdb.DuckDBPyConnection:
            self.require("store", "opens a database")
            return connect(*args, **options)

        duckdb.connect = connect_

    def _see(self, event: str, _: tuple[object, ...]) -> None:
        if event in _STARTS_A_PROCESS:
            self.require("system", "starts a process")


GUARD = LayerGuard()


def layer_of(path: str) -> str:
    """The layer of a test file's folder, by its path below tests/."""
    places = [path, *map(str, PurePosixPath(path).parents)]
    return next(FOLDERS[place] for place in places if place in FOLDERS)
