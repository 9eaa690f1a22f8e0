"""The sensitivity of a report over all models, in words that all its forms share."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, NamedTuple

from tracehouse.queries.report.figures import change_text, count_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tracehouse.queries.report.content import Sensitivity


class SensitivitySummary(NamedTuple):
    """Numbers of judged and blind models of the head, each by its worst device.

    Attributes:
        models: Models and backends.
        judged: Models with a judged operator on every device.
        blind: Models in which too large a change could hide on a device.
        typical: The largest typical change that could hide in a model; None without a limit.
        worst: The largest change that could hide in an operator; None if nothing was judged.
        explained: Operators whose change was explained by the shift of a whole run.
        operators: Judged operators.
    """

    models: int
    judged: int
    blind: int
    typical: float | None
    worst: float | None
    explained: int
    operators: int

    @classmethod
    def of(cls, rows: Sequence[Sensitivity]) -> SensitivitySummary:
        """The summary of a report's models."""
        models: dict[tuple[str, str | None], list[Sensitivity]] = defaultdict(list)
        for row in rows:
            models[row.model, row.backend].append(row)
        judged = [row for row in rows if row.judged_count]
        typical = [row.typical for row in judged]
        return cls(
            len(models),
            sum(all(row.judged_count for row in own) for own in models.values()),
            sum(any(row.is_blind for row in own) for own in models.values()),
            None if None in typical else max((t for t in typical if t is not None), default=None),
            max((row.worst for row in judged if row.worst is not None), default=None),
            sum(row.explained_count for row in rows),
            sum(row.judged_count for row in rows),
        )

    def share(self, models: int) -> str:
        """A number of the models, in words."""
        return f"{models:,} of {count_text(self.models, 'model')}"

    @property
    def reach(self) -> str:
        """The part of the models to which the verdict applies, if not all."""
        return "" if self.judged == self.models else f" on {self.share(self.judged)}"

    @property
    def limits(self) -> str:
        """The changes that could hide, typically and at worst."""
        typical = "any size" if self.typical is None else change_text(self.typical)
        worst = "" if self.worst is None else f", at worst of {change_text(self.worst)}"
        return f"changes of {typical} could hide{worst}"


def sensitivity_text(row: Sensitivity) -> str:
    """The change that could hide in a model, or the data needed to judge it."""
    if row.missing is not None:
        return row.missing
    explained = f", {row.explained_count:,} explained by the shift of the run"
    return (
        f"{SensitivitySummary.of([row]).limits}; {row.judged_count:,} of {row.series_count:,} "
        "series judged"
        f"{explained if row.explained_count else ''}"
    )
