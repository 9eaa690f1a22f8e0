"""The nightly report: what changed up to a build, as of its night."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence

import numpy as np

from queries.report.alerts import list_alerts
from queries.report.content import Coverage, Group, Missing, OperatorChange, Report, RunShift
from queries.report.facts import read_facts
from queries.report.night import Night, judge_head
from queries.report.settings import Settings
from warehouse.regressions.nightly import Status
from warehouse.store import Warehouse

_LEAST_SHIFT = 0.03
_SHIFT_GATE = 3.5
_MAD_TO_SD = 1.4826
_COMMITS = "SELECT name, commit FROM builds"
_DUMPS = "SELECT count(*) AS dumps FROM named_dumps WHERE build = $head"


def nightly_report(store: Warehouse, settings: Settings, *, head: str | None = None) -> Report:
    """The report of a build, by default of the last one; later builds do not count.

    Raises:
        ParameterError: The store has no such build, or none at all.
    """
    night = judge_head(store, head, settings)
    commits = {row["name"]: row["commit"] for row in store.sql(_COMMITS).to_pylist()}
    groups = list_alerts(night, commits)
    view = _HeadView(night)
    facts = read_facts(store, base=view.base[0] if view.base else None, head=night.head)
    counts = {**view.count_verdicts(), **{f"muted: {k}": n for k, n in night.muted.items()}}
    dumps = int(store.sql(_DUMPS, {"head": night.head})["dumps"][0].as_py())
    return Report(
        kind="nightly",
        head=night.head,
        base=view.base,
        verdict=_verdict(groups, counts),
        summary=_summary(night.head, groups, counts),
        groups=groups,
        run_shifts=view.run_shifts(),
        operator_changes=view.operator_changes(),
        exact_changes=facts.exact_changes,
        framework_tax=facts.framework_tax,
        coverage=view.coverage(dumps),
        quality=facts.quality,
        refused=facts.refused,
        verdict_counts=dict(sorted(counts.items())),
        rules={**night.rules._asdict(), "min_change": settings.nightly.min_change},
    )


def _verdict(groups: Sequence[Group], counts: dict[str, int]) -> str:
    bad = {group.state for group in groups if group.direction == "regression"}
    if "confirmed" in bad:
        return "regressions"
    if "new" in bad:
        return "suspects"
    tested = ("unchanged", "suspect", "within_build_noise", "explained_by_run_shift")
    return "clear" if any(counts.get(name) for name in tested) else "not_enough_data"


def _summary(head: str, groups: Sequence[Group], counts: dict[str, int]) -> str:
    states = Counter(group.state for group in groups if group.direction == "regression")
    faster = sum(group.direction == "improvement" for group in groups)
    series = sum(counts.values())
    found = [
        f"{states[state]} {text}"
        for state, text in (("confirmed", "confirmed"), ("new", "suspected"))
        if states[state]
    ]
    what = " and ".join(found) + " regressions" if found else "no regressions"
    return f"{head}: {what}, {faster} improvements, among {series} series"


class _HeadView:
    """The head's own nights, by family and series."""

    def __init__(self, night: Night) -> None:
        self._night = night
        nights, counts = night.fleet.nights, night.replay.cells.dump_count
        own = np.array([recording.build == night.head for recording in nights])
        self._there = counts[:, own].sum(axis=1) > 0
        self._most_dumps = counts[:, own].max(axis=1, initial=0)
        family = night.fleet.history.series.family
        self._family_there = _any_of(family, counts > 0)
        self._own = own
        before = np.flatnonzero(~own)
        lately = before[-night.rules.base_builds :]
        heads = self._family_there[:, own].any(axis=1)
        used = before[self._family_there[heads][:, before].any(axis=0)]
        builds = [nights[number].build for number in used[::-1].tolist()]
        self.base: list[str] = list(dict.fromkeys(builds))[: night.rules.base_builds]
        self._lately = lately
        self._names = _family_names(night)

    def count_verdicts(self) -> dict[str, int]:
        """Series by what the night says of each."""
        counts = Counter(self._night.replay.night.status.tolist())
        names = {status: status.name.lower() for status in Status} | {Status.HIT: "suspect"}
        return {names[Status(status)]: count for status, count in counts.items()}

    def coverage(self, dump_count: int) -> Coverage:
        """What the head was recorded on, and what is missing."""
        heads = self._family_there[:, self._own].any(axis=1)
        missing, too_few = [], []
        nights, family = self._night.fleet.nights, self._night.fleet.history.series.family
        for number, (device, model, backend) in enumerate(self._names):
            before = self._lately[self._family_there[number, self._lately]]
            if not heads[number] and len(before):
                last = nights[int(before[-1])].build
                missing.append(
                    Missing(device=device, model=model, backend=backend, last_build=last)
                )
            dumps = int(self._most_dumps[family == number].max(initial=0))
            if 0 < dumps < self._night.rules.least_dumps:
                name = " ".join(filter(None, (device, model, backend)))
                wanted = self._night.rules.least_dumps
                too_few.append(f"{name}: {dumps} dumps, {wanted} wanted")
        there = [name for name, is_there in zip(self._names, heads, strict=True) if is_there]
        return Coverage(
            device_count=len({device for device, _, _ in there}),
            model_count=len({(model, backend) for _, model, backend in there}),
            dump_count=dump_count,
            series_count=int(self._there.sum()),
            missing=missing,
            too_few=too_few,
        )

    def run_shifts(self) -> list[RunShift]:
        """How far each family moved as a whole in the head's last night."""
        shifts = self._night.replay.shifts
        last = int(np.flatnonzero(self._own)[-1])
        found = []
        for number, (device, model, backend) in enumerate(self._names):
            there = np.flatnonzero(self._family_there[number, :last])
            before = shifts[number, there[-self._night.rules.base_builds :]]
            if not self._family_there[number, last] or not len(before):
                continue
            usual = float(np.median(before))
            spread = _MAD_TO_SD * float(np.median(np.abs(before - usual)))
            limit = max(_LEAST_SHIFT, _SHIFT_GATE * spread * float(np.sqrt(1 + 1 / len(before))))
            shift = float(np.expm1(shifts[number, last] - usual))
            found.append(
                RunShift(
                    device=device,
                    model=model,
                    backend=backend,
                    shift=shift,
                    limit=limit,
                    is_notable=abs(shift) > limit,
                )
            )
        return found

    def operator_changes(self) -> list[OperatorChange]:
        """Operators that the head has and the build before has not, or the other way round."""
        fleet, cells = self._night.fleet, self._night.replay.cells
        family = fleet.history.series.family
        last = int(np.flatnonzero(self._own)[-1])
        before: dict[int, int] = {}
        for number in range(len(self._names)):
            there = np.flatnonzero(self._family_there[number, :last] & ~self._own[:last])
            if len(there) and self._family_there[number, last]:
                before[number] = int(there[-1])
        found = []
        for series, number in enumerate(family.tolist()):
            if number not in before:
                continue
            was = bool(cells.dump_count[series, before[number]])
            if was != bool(self._there[series]):
                found.append(self._operator_change(series, before[number], last, was=was))
        return found

    def _operator_change(self, series: int, before: int, last: int, *, was: bool) -> OperatorChange:
        fleet, cells = self._night.fleet, self._night.replay.cells
        keys = {name: fleet.keys[name][series].as_py() for name in fleet.keys.column_names}
        level = cells.median[series, before if was else last]
        base = fleet.nights[before].build
        return OperatorChange(
            change="removed_op" if was else "new_op",
            device=keys["device"],
            model=keys["model"],
            backend=keys["backend"],
            event_name=keys["event_name"],
            delegate_id=keys["delegate_id"],
            ordinal=keys["ordinal"],
            cost_ns=(-1 if was else 1) * float(np.exp(level)) if keys["unit"] == "ns" else None,
            detail=f"{base} has it, {self._night.head} not" if was else f"{base} has it not",
        )


def _any_of(family: np.ndarray, there: np.ndarray) -> np.ndarray:
    found = np.zeros((int(family.max(initial=-1)) + 1, there.shape[1]), bool)
    np.logical_or.at(found, family, there)
    return found


def _family_names(night: Night) -> list[tuple[str, str, str | None]]:
    names: dict[int, tuple[str, str, str | None]] = defaultdict()
    columns = (night.fleet.keys[name].to_pylist() for name in ("device", "model", "backend"))
    for family, name in zip(
        night.fleet.history.series.family.tolist(), zip(*columns, strict=True), strict=True
    ):
        names.setdefault(family, name)
    return [names[number] for number in range(len(names))]
