"""An upkeep task, which a command does on a store, or the service that has the store open."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Protocol, cast

from tracehouse.cli.remote import RemoteStore
from tracehouse.cli.stores import lock_hint, noting_rebuild, open_to_write, service_of

if TYPE_CHECKING:
    import pyarrow as pa

    from tracehouse.cli.output.options import OutputOptions
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


def parameters_of(task: Task) -> dict[str, object]:
    """The parameters of a task, by name."""
    return asdict(cast("Any", task))


def run_task(task: Task, store: Path, *, wait: float, config: Path | None = None) -> pa.Table:
    """The rows of a task, which the chosen service does, or the service of the store, or we do.

    Errors of the store, of its queries and of the service are passed on.
    """
    from tracehouse.cli.output.progress import progress_bar

    service = service_of(store)
    if service is None:
        return _run_here(task, store, wait=wait, config=config)
    service.reject_settings(config)
    with (
        service.connect(retry_seconds=wait) as connection,
        progress_bar(unit="parts", has_events=False) as progress,
    ):
        return RemoteStore(connection).run_task(task.name, parameters_of(task), progress)


def write_rows(options: OutputOptions, table: pa.Table) -> None:
    """Print the rows and notes of a task, or only the notes if it has no columns."""
    from tracehouse.cli.output.render import write_table_note

    if table.num_columns:
        options.write(table)
    else:
        write_table_note(table)


def _run_here(task: Task, store: Path, *, wait: float, config: Path | None) -> pa.Table:
    from tracehouse.cli.output.progress import progress_bar
    from tracehouse.warehouse.engine.store_file import FILE_NAME
    from tracehouse.warehouse.opening.doors import errors_while_open

    with progress_bar(unit="parts", has_events=False) as progress, ExitStack() as opened:
        warehouse = opened.enter_context(open_to_write(store, wait=wait))

        def compact() -> CompactionResult:
            from tracehouse.warehouse.upkeep.compact import compact_store

            opened.close()
            with lock_hint(wait), noting_rebuild(store):
                return compact_store(store, wait=wait, progress=progress)

        local = TaskStore(store, warehouse, compact, config=config, progress=progress)
        with errors_while_open(store, store / FILE_NAME):
            return task.run(local)
