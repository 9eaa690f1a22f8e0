"""What all upkeep tasks have in common: the store that they work on, and what they return."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, NamedTuple, Protocol

if TYPE_CHECKING:
    import pyarrow as pa

    from tracehouse.warehouse.load.summary import IngestProgress
    from tracehouse.warehouse.store import Store
    from tracehouse.warehouse.upkeep.compact import CompactionResult

UPKEEP, TRIAGE = "upkeep", "triage"  # scopes of tokens


class TaskStore(NamedTuple):
    """The store that a task works on, of a command or of a service.

    Attributes:
        path: The store's directory.
        warehouse: The store, open for writing until `compact` is called.
        compact: Compacts the store.
        user: Who wants the task; None for the user of this process.
        config: Settings file of reports, if it was given.
        progress: Called as the task proceeds.
    """

    path: Path
    warehouse: Store
    compact: Callable[[], CompactionResult]
    user: str | None = None
    config: Path | None = None
    progress: Callable[[IngestProgress], None] | None = None


class Task(Protocol):
    """A dataclass with the parameters of a task, which are the same as JSON.

    A parameter without meaning raises QueryError or ManifestError when the task is made.

    Attributes:
        name: Name of the command and of the endpoint.
        scopes: Scopes of tokens; one of them is needed.
    """

    name: ClassVar[str]
    scopes: ClassVar[tuple[str, ...]]

    def run(self, store: TaskStore) -> pa.Table:
        """Do the task; returns the rows that its command prints, with the notes of the table.

        Errors of the store and of its queries are passed on.
        """


def with_notes(table: pa.Table, notes: Sequence[str]) -> pa.Table:
    """The table with notes, one a line, if there are any."""
    return table.replace_schema_metadata({"note": "\n".join(notes)}) if notes else table
