"""Facts about a build from canned queries: exact measures, tax, quality, environment, refusals.

An attribute of the environment explains a change of a model if no dump at the new level was
recorded with a value that dumps of the base have. For series relative to a reference build, values
that the reference of the same session shares do not count.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from functools import cached_property
from itertools import groupby
from typing import NamedTuple

import numpy as np

from tracehouse.queries.report.content import (
    DriftPoint,
    EnvironmentChange,
    Group,
    Missing,
    Quality,
    ReferenceDrift,
    RefusedFile,
    Stability,
)
from tracehouse.queries.report.figures import count_text
from tracehouse.queries.report.parts import ExactChange, Row, TaxRow
from tracehouse.queries.report.settings import Settings
from tracehouse.warehouse.catalogue.sql_files import read_statement
from tracehouse.warehouse.queryable import Queryable
from tracehouse.warehouse.statistics.arrays import reaches

_ATTRIBUTES = ("os", "os_version", "firmware", "governor", "threads")
_TEMPERATURE = "temperature"
_WARMER_CELSIUS = 5
_AS_REFERENCE = "as the reference"
_REFERENCE = ""  # not the name of a build
_SHOWN = 3
_MOST_REFUSED = 100
_MOST_STEPS = 20
_MOST_NAMED = 5
_COMMITS = "SELECT name, commit FROM builds WHERE commit IS NOT NULL ORDER BY name"
_REFERENCES = "SELECT name FROM builds WHERE role = 'reference' LIMIT 1"


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
            (name, self._join_values(family, base, name), self._join_values(family, head, name))
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
            own = self._find_stated(family, night, name)
            reference = self._find_stated(family, Recording(_REFERENCE, night.session), name)
            found |= {_AS_REFERENCE} if has_reference and reference in (set(), own) else own
        return found

    def _join_values(self, family: Family, nights: Iterable[Recording], name: str) -> str:
        values = sorted(set().union(*(self._find_stated(family, night, name) for night in nights)))
        return ", ".join([*values[:_SHOWN], *(["..."] if len(values) > _SHOWN else [])])

    def _celsius(self, family: Family, nights: Iterable[Recording]) -> float | None:
        rows = [row for night in nights for row in self._rows.get((family, night), [])]
        known = [row for row in rows if row["celsius"] is not None]
        degrees = np.repeat(
            [row["celsius"] for row in known], [row["celsius_count"] for row in known]
        )
        return float(np.median(degrees)) if len(known) else None

    def _find_stated(self, family: Family, night: Recording, name: str) -> set[str]:
        rows = self._rows.get((family, night), [])
        return {row[name] for row in rows if row[name] is not None}


def may_explain(change: EnvironmentChange) -> bool:
    """Whether a change can explain changed times; a warmer night is listed, but does not."""
    return change.attribute != _TEMPERATURE


class Facts(NamedTuple):
    """Parts of a report; see `Report`."""

    exact_changes: list[ExactChange]
    framework_tax: list[TaxRow]
    reference_drift: list[ReferenceDrift]
    quality: Quality
    refused: list[RefusedFile]


def read_facts(
    store: Queryable, *, base: str | None, head: str, until: datetime | None = None
) -> Facts:
    """Facts about a build other than operators' times.

    Files refused after `until` are left out.
    """
    steadiness = store.query("stability", build=head).to_pylist()
    known = store.query("ingest_errors", until=until).to_pylist()
    refused = [row for row in known if not row["is_resolved"]]
    warnings = [*_list_steps(steadiness), *_list_wrong_clocks(store, head)]
    if len(refused) > _MOST_REFUSED:
        warnings.append(f"{len(refused):,} files were refused; {_MOST_REFUSED} are listed")
    return Facts(
        _exact_changes(store, base, head) if base else [],
        _framework_tax(store, base, head),
        _reference_drift(store, until),
        Quality(
            stability=[Stability.of(row) for row in steadiness],
            environment=_changed_environment(store, base, head) if base else [],
            warnings=warnings,
        ),
        [RefusedFile.of(row) for row in refused[:_MOST_REFUSED]],
    )


def _list_wrong_clocks(store: Queryable, head: str) -> list[str]:
    """Whose clocks were wrong when a build was recorded, or out of line with the other devices'."""
    rows = store.sql(read_statement("wrong_clocks"), {"head": head}).to_pylist()
    return [_describe_clock(row, head) for row in rows]


def _describe_clock(row: Row, head: str) -> str:
    first, last = row["first_day"], row["last_day"]
    at = f"{first}" if first == last else f"{first} to {last}"
    what = f"{row['device']}'s clock was at {at} in {head} ({count_text(row['n'], 'dump')})"
    if row["is_possible"]:
        return (
            f"{what}, and the clocks of its other devices at {row['usual_day']}: if it is wrong, "
            "set it, and correct the dumps with 'tracehouse store amend'"
        )
    return (
        f"{what}, which cannot be and does not count in the order of builds: set it, and correct "
        "the dumps with 'tracehouse store amend'"
    )


def read_commits(store: Queryable) -> dict[str, str]:
    """The source revision of each build that states one."""
    return {row["name"]: row["commit"] for row in store.sql(_COMMITS).to_pylist()}


def choose_commits(
    commits: Mapping[str, str], builds: Iterable[str], groups: Iterable[Group]
) -> dict[str, str]:
    """The source revisions of builds, including those between which the groups began."""
    ends = (build for group in groups for build in (group.first_bad, group.last_good))
    named = {*builds, *ends}
    return {build: commit for build, commit in commits.items() if build in named}


def add_expected(
    store: Queryable, missing: Iterable[Missing], settings: Settings, head: str
) -> list[Missing]:
    """Missing recordings of a head, including recordings that the settings expect every night."""
    found = list(missing)
    if not settings.expected:
        return found
    gaps = store.query("coverage_gaps", build=head, expected=settings.expected_places)
    for gap in gaps.to_pylist():
        same = [number for number, row in enumerate(found) if _is_same(row, gap)]
        for number in same:
            found[number] = found[number].model_copy(update={"is_expected": True})
        if not same:
            found.append(Missing.of(gap, last_build=None, is_expected=True))
    return sorted(found, key=lambda row: not row.is_expected)


def _is_same(missing: Missing, gap: Row) -> bool:
    """Whether a gap equals a missing recording; a gap without a backend means any."""
    is_place = (missing.device, missing.model) == (gap["device"], gap["model"])
    return is_place and gap["backend"] in (None, missing.backend)


def list_notes(
    missing: Sequence[Missing], drift: Sequence[ReferenceDrift], relative: Collection[str]
) -> list[str]:
    """Notes to be read first; times of the devices in `relative` are relative to a reference."""
    absent = [row for row in missing if row.is_expected]
    named = [row.where for row in absent[:_MOST_NAMED]]
    more = [f"{len(absent) - _MOST_NAMED:,} more"] * (len(absent) > _MOST_NAMED)
    builds = sorted({name for row in drift if row.device in relative for name in row.references})
    devices = sorted(relative)
    more_devices = f" and {len(devices) - _MOST_NAMED:,} more" * (len(devices) > _MOST_NAMED)
    notes = []
    if absent:
        notes.append(f"expected, but not recorded: {', '.join([*named, *more])}")
    if builds:
        notes.append(
            f"times on {', '.join(devices[:_MOST_NAMED])}{more_devices} are relative to the "
            f"reference build {' and '.join(builds)}, in tables and in plots: effects of the "
            "device on both cancel"
        )
    return notes


def _reference_drift(store: Queryable, until: datetime | None) -> list[ReferenceDrift]:
    if not len(store.sql(_REFERENCES)):
        return []
    rows = store.sql(read_statement("reference_drift"), {"until": until}).to_pylist()
    return [
        ReferenceDrift(
            device=device,
            references=sorted({name for row in own for name in row["builds"]}),
            points=[DriftPoint.of(row) for row in own],
        )
        for device, own in (
            (device, list(group)) for device, group in groupby(rows, lambda row: row["device"])
        )
    ]


def _list_steps(rows: Sequence[Row]) -> list[str]:
    """Models whose processes ran at one of two speeds, and the number of switches."""
    stepped = [row for row in rows if row["level_gap"] is not None]
    lines = []
    for row in stepped[:_MOST_STEPS]:
        gap, steps = f"{100 * row['level_gap']:.0f} % apart", count_text(row["level_steps"], "step")
        lines.append(
            f"{Family.of(row)}: dumps ran at two speeds, {gap}, {steps} from one to the other"
        )
    more = len(stepped) - len(lines)
    return [*lines, f"and {more:,} more that ran at two speeds"] if more else lines


def _exact_changes(store: Queryable, base: str, head: str) -> list[ExactChange]:
    rows = store.query("exact_changes", base=base, head=head).to_pylist()
    return [
        ExactChange.of(
            row | {"measure": measure_name(row["measure"], row["run_name"], row["allocator"])}
        )
        for row in rows
        if row["verdict"] == "changed" and None not in (row["base"], row["head"])
    ]


def _changed_environment(store: Queryable, base: str, head: str) -> list[EnvironmentChange]:
    rows = store.query("environment_changes", base=base, head=head).to_pylist()
    return [
        EnvironmentChange.of(row, base=row["base"] or "unknown", head=row["head"] or "unknown")
        for row in rows
        if row["verdict"] == "changed"
    ]


def _framework_tax(store: Queryable, base: str | None, head: str) -> list[TaxRow]:
    builds = [head] if base is None else [base, head]
    shares: dict[Family, dict[str, float | None]] = {}
    for row in store.query("framework_tax", build=builds, scope="total").to_pylist():
        share = row["tax_share"]
        percent = None if share is None else 100 * share
        shares.setdefault(Family.of(row), {})[row["build"]] = percent
    return [
        TaxRow(
            **family._asdict(),
            base_percent=by_build.get(base) if base else None,
            head_percent=by_build.get(head),
        )
        for family, by_build in sorted(shares.items(), key=lambda item: item[0].sort_key())
        if head in by_build
    ]


def measure_name(measure: str, run: str | None, allocator: str | None) -> str:
    """A measure in words; its runs are named if a model has several."""
    is_reported = run is not None and (measure == "allocated_bytes" or " " in run)
    return " ".join(filter(None, (measure, run if is_reported else None, allocator)))
