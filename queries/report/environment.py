"""Changes of the environment where a series changed, judged by the compared dumps.

An attribute explains a change of a model if no dump at the new level was recorded with a value that
dumps of the base have. For series relative to a reference build, values that the reference of the
same session shares do not count.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from functools import cached_property
from typing import NamedTuple

import numpy as np

from tracehouse.queries.report.content import EnvironmentChange
from tracehouse.queries.report.parts import Row
from tracehouse.warehouse.catalogue.sql_files import read_statement
from tracehouse.warehouse.queryable import Queryable
from tracehouse.warehouse.statistics.arrays import reaches

_ATTRIBUTES = ("os", "os_version", "firmware", "governor", "threads")
_TEMPERATURE = "temperature"
_WARMER_CELSIUS = 5
_AS_REFERENCE = "as the reference"
_REFERENCE = ""  # not the name of a build
_SHOWN = 3


class Family(NamedTuple):
    """A model and backend on a device."""

    device: str
    model: str
    backend: str | None

    @classmethod
    def of(cls, row: Row) -> Family:
        """The family of a row that has its columns."""
        return cls(*(row[name] for name in cls._fields))

    def sort_key(self) -> tuple[str, str, str]:
        """Sort key of families."""
        return self.device, self.model, self.backend or ""

    def __str__(self) -> str:
        """The names, joined as commands accept them."""
        return " ".join(filter(None, self))


class Recording(NamedTuple):
    """A recording of a model: a build, and its session ('' if unstated)."""

    build: str
    session: str


class Environments:
    """The environments of all recordings of a store."""

    def __init__(self, store: Queryable) -> None:
        """Read the manifests of a store on first use."""
        self._store = store

    @cached_property
    def _rows(self) -> Mapping[tuple[Family, Recording], list[Row]]:
        """The stated attributes by recording; reference builds also under an empty build."""
        rows: dict[tuple[Family, Recording], list[Row]] = defaultdict(list)
        for row in self._store.sql(read_statement("recorded_environments")).to_pylist():
            family = Family.of(row)
            rows[family, Recording(row["build"], row["session"])].append(row)
            if row["build_role"] == "reference":
                rows[family, Recording(_REFERENCE, row["session"])].append(row)
        return rows

    def nights(self, family: Family, build: str) -> list[Recording]:
        """The recordings of a build of a model."""
        return [night for own, night in self._rows if own == family and night.build == build]

    def changes(
        self,
        family: Family,
        base: Collection[Recording],
        head: Collection[Recording],
        *,
        has_reference: bool = False,
    ) -> list[EnvironmentChange]:
        """Changes of the environment between two sets of recordings of a model.

        With `has_reference`, the values are relative to a reference of the same sessions.
        """
        old, new = (
            {
                name: self._values(family, nights, name, has_reference=has_reference)
                for name in _ATTRIBUTES
            }
            for nights in (base, head)
        )
        shown = [
            (name, self._shown(family, base, name), self._shown(family, head, name))
            for name in _ATTRIBUTES
            if old[name] and new[name] and not old[name] & new[name]
        ]
        was, now = self._celsius(family, base), self._celsius(family, head)
        if was is not None and now is not None and reaches(abs(now - was), _WARMER_CELSIUS):
            shown.append((_TEMPERATURE, f"{was:.0f}", f"{now:.0f}"))
        return [
            EnvironmentChange(**family._asdict(), attribute=name, base=before, head=after)
            for name, before, after in shown
        ]

    def _values(
        self, family: Family, nights: Iterable[Recording], name: str, *, has_reference: bool
    ) -> set[str]:
        """Values of an attribute; a value shared with the session's reference does not count."""
        found = set()
        for night in nights:
            own = self._stated(family, night, name)
            beside = self._stated(family, Recording(_REFERENCE, night.session), name)
            found |= {_AS_REFERENCE} if has_reference and beside in (set(), own) else own
        return found

    def _shown(self, family: Family, nights: Iterable[Recording], name: str) -> str:
        values = sorted(set().union(*(self._stated(family, night, name) for night in nights)))
        return ", ".join([*values[:_SHOWN], *(["..."] if len(values) > _SHOWN else [])])

    def _celsius(self, family: Family, nights: Iterable[Recording]) -> float | None:
        rows = [row for night in nights for row in self._rows.get((family, night), [])]
        known = [row for row in rows if row["celsius"] is not None]
        degrees = np.repeat(
            [row["celsius"] for row in known], [row["celsius_count"] for row in known]
        )
        return float(np.median(degrees)) if len(known) else None

    def _stated(self, family: Family, night: Recording, name: str) -> set[str]:
        rows = self._rows.get((family, night), [])
        return {row[name] for row in rows if row[name] is not None}


def may_explain(change: EnvironmentChange) -> bool:
    """Whether a change can explain changed times; a warmer night is listed, but does not."""
    return change.attribute != _TEMPERATURE
