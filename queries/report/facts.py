"""What a report takes from canned queries: measures without noise, tax, quality, refusals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from queries.asked import AskedStore
from queries.report.content import (
    EnvironmentChange,
    ExactChange,
    Quality,
    Refused,
    Stability,
    TaxRow,
)
from queries.report.figures import count_text

_MOST_REFUSED = 100
_MOST_STEPS = 20

Row = Mapping[str, Any]


class Facts(NamedTuple):
    """Parts of a report, see `Report`."""

    exact_changes: list[ExactChange]
    framework_tax: list[TaxRow]
    quality: Quality
    refused: list[Refused]


def read_facts(
    store: AskedStore, *, base: str | None, head: str, until: datetime | None = None
) -> Facts:
    """What the store says of a build beside its operators' times.

    Args:
        store: The store.
        base: The build it is compared with; None if there is none.
        head: The build.
        until: Files that were refused later are left out; None if none are.
    """
    steadiness = store.query("stability", build=head).to_pylist()
    known = store.query("ingest_errors", until=until).to_pylist()
    refused = [row for row in known if not row["is_resolved"]]
    warnings = _list_steps(steadiness)
    if len(refused) > _MOST_REFUSED:
        warnings.append(f"{len(refused):,} files were refused; {_MOST_REFUSED} are listed")
    return Facts(
        _exact_changes(store, base, head) if base else [],
        _framework_tax(store, base, head),
        Quality(
            stability=[_stability(row) for row in steadiness],
            environment=_changed_environment(store, base, head) if base else [],
            warnings=warnings,
        ),
        [
            Refused(source=row["source"], reason=row["reason"], detail=row["detail"])
            for row in refused[:_MOST_REFUSED]
        ],
    )


def _list_steps(rows: Sequence[Row]) -> list[str]:
    """Where whole processes ran at one of two speeds, and how often that changed."""
    stepped = [row for row in rows if row["level_gap"] is not None]
    told = []
    for row in stepped[:_MOST_STEPS]:
        where = " ".join(filter(None, (row["device"], row["model"], row["backend"])))
        apart = f"{100 * row['level_gap']:.0f} % apart"
        steps = count_text(row["level_steps"], "step")
        told.append(f"{where}: dumps ran at two speeds, {apart}, {steps} from one to the other")
    more = len(stepped) - len(told)
    return [*told, f"and {more:,} more that ran at two speeds"] if more else told


def _stability(row: Row) -> Stability:
    names = "device", "model", "backend", "dump_count", "cv", "iqr_share", "p99_over_p50"
    return Stability(
        **{name: row[name] for name in (*names, "max_over_min", "score", "note")},
    )


def _exact_changes(store: AskedStore, base: str, head: str) -> list[ExactChange]:
    rows = store.query("exact_changes", base=base, head=head).to_pylist()
    return [
        ExactChange(
            device=row["device"],
            model=row["model"],
            backend=row["backend"],
            measure=_measure_text(row["measure"], row["run_name"], row["allocator"]),
            base=row["base"],
            head=row["head"],
        )
        for row in rows
        if row["verdict"] == "changed" and None not in (row["base"], row["head"])
    ]


def _changed_environment(store: AskedStore, base: str, head: str) -> list[EnvironmentChange]:
    rows = store.query("environment_changes", base=base, head=head).to_pylist()
    return [
        EnvironmentChange(
            device=row["device"],
            model=row["model"],
            backend=row["backend"],
            attribute=row["attribute"],
            base=row["base"] or "unknown",
            head=row["head"] or "unknown",
        )
        for row in rows
        if row["verdict"] == "changed"
    ]


def _framework_tax(store: AskedStore, base: str | None, head: str) -> list[TaxRow]:
    builds = [head] if base is None else [base, head]
    shares: dict[tuple[str, str, str | None], dict[str, float | None]] = {}
    for row in store.query("framework_tax", build=builds, scope="total").to_pylist():
        key = row["device"], row["model"], row["backend"]
        share = row["tax_share"]
        shares.setdefault(key, {})[row["build"]] = None if share is None else 100 * share
    return [
        TaxRow(
            device=device,
            model=model,
            backend=backend,
            base_percent=by_build.get(base) if base else None,
            head_percent=by_build.get(head),
        )
        for (device, model, backend), by_build in sorted(
            shares.items(), key=lambda item: tuple(part or "" for part in item[0])
        )
        if head in by_build
    ]


def _measure_text(measure: str, run: str | None, allocator: str | None) -> str:
    """A measure; of what program runs it is told where a model has several."""
    is_told = run is not None and (measure == "allocated_bytes" or " " in run)
    return " ".join(filter(None, (measure, run if is_told else None, allocator)))
