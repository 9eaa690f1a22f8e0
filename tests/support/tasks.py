"""A cluster's work, done by this process; and a driver that dies meanwhile."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from tracehouse.warehouse.spark.groups import DECODED_GROUPS
from tracehouse.warehouse.spark.tasks import Work


class TasksHere:
    """Does each piece in turn.

    Attributes:
        parallelism: Wanted number of pieces.
        done: Pieces done so far.
    """

    def __init__(self, parallelism: int = 2) -> None:
        self.parallelism = parallelism
        self.done: list[str] = []

    def run(self, pieces: Sequence[str], work: Work, schema: pa.Schema) -> pa.Table:
        tables = [self._do(piece, work).cast(schema) for piece in pieces]
        return pa.concat_tables([schema.empty_table(), *tables])

    def _do(self, piece: str, work: Work) -> pa.Table:
        self.done.append(piece)
        return work(piece)


class DriverDies(BaseException):
    """An error that is not caught."""


class DyingTasks(TasksHere):
    """Decodes some groups; then the driver dies, and their results are lost."""

    def __init__(self, n_groups: int) -> None:
        super().__init__()
        self._n_groups = n_groups

    def run(self, pieces: Sequence[str], work: Work, schema: pa.Schema) -> pa.Table:
        if schema is not DECODED_GROUPS:
            return super().run(pieces, work, schema)
        super().run(pieces[: self._n_groups], work, schema)
        raise DriverDies
