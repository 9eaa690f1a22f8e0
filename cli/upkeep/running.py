"""Running a task: on the store itself, or through the service that has the store open."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from tracehouse.cli.stores import lock_hint, noting_rebuild, open_to_write, service_of
from tracehouse.cli.upkeep.store_task import Task, TaskStore

if TYPE_CHECKING:
    import pyarrow as pa

    from tracehouse.cli.output.options import OutputOptions
    from tracehouse.warehouse.upkeep.compact import CompactionResult


def run_task(task: Task, store: Path, *, wait: float, config: Path | None = None) -> pa.Table:
    """The rows of a task, which the chosen service does, or the service of the store, or we do.

    Errors of the store, of its queries and of the service are passed on.
    """
    from tracehouse.cli.output.progress import progress_bar
    from tracehouse.cli.upkeep.requests import request_task

    service = service_of(store)
    if service is None:
        return _run_here(task, store, wait=wait, config=config)
    service.reject_settings(config)
    with (
        service.connect(retry_seconds=wait) as connection,
        progress_bar(unit="parts", has_events=False) as progress,
    ):
        return request_task(connection, task, progress)


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
