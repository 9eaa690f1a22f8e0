"""Reports made by hand: every part, few numbers, and chosen names."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, date, datetime
from typing import Any
from xml.etree import ElementTree

from tracehouse.queries.report.content import (
    BuildPoint,
    Coverage,
    DriftPoint,
    EnvironmentChange,
    Group,
    Headline,
    Member,
    Missing,
    OperatorChange,
    Quality,
    ReferenceDrift,
    RefusedFile,
    Report,
    RunShift,
    Sensitivity,
    Stability,
    TallyRow,
)
from tracehouse.queries.report.figures import count_text
from tracehouse.queries.report.parts import ExactChange, Note, TaxRow
from tracehouse.warehouse.point import Point
from tracehouse.warehouse.regressions.changes import SeriesVerdict

_NIGHTS = 14


def member(**changes: Any) -> Member:
    """A convolution that takes 6.2 % more; with its dumps and the history of 14 builds."""
    base_ns, delta = changes.get("base_ns", 1_240_000.0), changes.get("delta", 0.062)
    scale = base_ns or 400.0  # else ticks
    first_bad = _NIGHTS - 3
    history = [
        BuildPoint(
            build=f"b{i + 29}",
            dump_count=10,
            median_ns=None
            if base_ns is None
            else base_ns * (1 + 0.004 * (i * 7 % 5 - 2) + delta * (i >= first_bad)),
        )
        for i in range(_NIGHTS)
    ]
    history[4] = BuildPoint(build="b33", dump_count=0, median_ns=None)
    fields: dict[str, Any] = {
        "device": "pixel8", "pool": "phones", "model": "mobilenet_v2", "backend": "xnnpack",
        "run": "Execute", "event_name": "native_call_convolution.out", "delegate_id": None,
        "ordinal": 3, "kind": "kernel", "unit": "ticks" if base_ns is None else "ns",
        "module_path": "features.3.conv", "delta": delta, "delta_low": delta - 0.013,
        "delta_high": delta + 0.012, "p_adjusted": 0.00031, "base_ns": base_ns,
        "head_ns": None if base_ns is None else base_ns * (1 + delta),
        "cost_ns": None if base_ns is None else base_ns * delta,
        "base_values": [scale * (1 + 0.002 * (i * 7 % 13 - 6)) for i in range(40)],
        "head_values": [scale * (1 + delta + 0.002 * (i * 5 % 11 - 5)) for i in range(10)],
        "history": history,
        "rule": "head against the last 5 builds, quieter frame: +6.2 %, at least 2 %; p 0.00031",
    }  # fmt: skip
    return Member(**fields | changes)


def group(*members: Member, title: str | None = None, **changes: Any) -> Group:
    """A confirmed regression of its members, by default of one."""
    members = members or (member(),)
    first = members[0]
    costs = [one.cost_ns for one in members if one.cost_ns is not None]
    devices, models = len({one.device for one in members}), len({one.model for one in members})
    headline = Headline(
        title=title
        or f"{first.event_name} {100 * first.delta:+.1f} % on {count_text(devices, 'device')}",
        operator=first.event_name or str(first.delegate_id),
        operators=[first.event_name or str(first.delegate_id)],
        delta=first.delta,
        cost_ns=sum(costs) if costs else None,
        device_count=devices,
        model_count=models,
        member_count=len(members),
        total_share=0.83,
        method_share=0.05,
    )
    fields: dict[str, Any] = {
        "id": "g-5f1c9a2e", "state": "confirmed",
        "direction": "regression" if first.delta > 0 else "improvement", "first_bad": "b40",
        "last_good": "b39", "headline": headline, "members": list(members), "explains": [],
        "dumps_needed": 0, "reason": None, "owner": None, "fixed_in": None, "environment": [],
        "commands": [
            "tracehouse query regression_deltas --base b39 --head b42 --model mobilenet_v2",
            "git bisect start b40 b39 && git bisect run tracehouse bisect-step g-5f1c9a2e",
        ],
    }  # fmt: skip
    return Group(**fields | changes)


def report(*groups: Group, **changes: Any) -> Report:
    """A nightly report of only these groups."""
    is_bad = any(one.direction == "regression" and one.state == "confirmed" for one in groups)
    fields: dict[str, Any] = {
        "kind": "nightly", "head": "b42", "base": ["b41", "b40", "b39"],
        "recorded_on": date(2026, 3, 1), "commits": {}, "repo_url": None, "notes": [],
        "reference_drift": [], "point_notes": [],
        "verdict": "regressions" if is_bad else "clear",
        "summary": f"{len(groups)} groups of series changed.", "groups": list(groups),
        "tally": [
            TallyRow(kind="slower", word="slower", size=3),
            TallyRow(kind="unchanged", word="unchanged", size=4_812),
            TallyRow(kind="unsure", word="too fast to judge", size=96),
        ],
        "run_shifts": [], "operator_changes": [], "exact_changes": [], "budgets": [],
        "framework_tax": [], "coverage": coverage(), "sensitivity": [],
        "quality": Quality(stability=[], environment=[], warnings=[]), "refused": [],
        "verdict_counts": {"unchanged": 4_812, "inconclusive": 96},
        "rules": {"builds": 5, "min_change": 0.02, "reference": None},
    }  # fmt: skip
    return Report(**fields | changes)


def coverage(**changes: Any) -> Coverage:
    """A head that 3 devices recorded."""
    fields: dict[str, Any] = {
        "device_count": 3, "model_count": 2, "dump_count": 180, "series_count": 4_911,
        "judged_count": 4_908, "missing": [], "too_few": [],
    }  # fmt: skip
    return Coverage(**fields | changes)


def stability(device: str, **changes: Any) -> Stability:
    """A steady device."""
    fields: dict[str, Any] = {
        "device": device, "model": "mobilenet_v2", "backend": "xnnpack", "dump_count": 10,
        "cv": 0.0123, "iqr_share": 0.011, "p99_over_p50": 1.08, "max_over_min": 1.21, "score": 96.4,
        "note": None,
    }  # fmt: skip
    return Stability(**fields | changes)


def sensitivity(**changes: Any) -> Sensitivity:
    """A model in which too large a change could hide."""
    fields: dict[str, Any] = {
        "device": "pixel8", "model": "mobilenet_v2", "backend": "xnnpack", "series_count": 69,
        "judged_count": 60, "explained_count": 49, "typical": 0.38, "worst": 7.52,
        "worst_operator": "aten::mul.out #1", "is_blind": True, "missing": None,
    }  # fmt: skip
    return Sensitivity(**fields | changes)


def read_xml(text: str) -> ElementTree.Element:
    """The root of XML that we made."""
    return ElementTree.fromstring(text)  # noqa: S314


def full_report() -> Report:
    """A report whose every part has content."""
    here: dict[str, Any] = {"device": "pixel8", "model": "mobilenet_v2", "backend": "xnnpack"}
    s24: dict[str, Any] = {"device": "s24", "model": "llama_1b", "backend": "vulkan"}
    new_op: dict[str, Any] = {
        "run": "Execute", "event_name": "aten::clone.out", "delegate_id": None, "ordinal": 9,
    }  # fmt: skip
    return report(
        group(
            *(member(device=name, delta=0.062 - i / 300) for i, name in enumerate(_DEVICES)),
            title="native_call_convolution.out +6.2 % on 8 devices, 1 model",
            explains=[member(event_name="Method::execute", kind="method", ordinal=1, delta=0.021)],
            owner="kernels@example.org",
        ),
        group(
            member(**s24, event_name="", delegate_id="vk_linear", delta=0.118, base_ns=84_200.0),
            member(**s24, event_name="DELEGATE_CALL", delta=0.09, base_ns=None, kind="x"),
            title="vk_linear +11.8 % on 1 device, 1 model",
            id="g-77",
        ),
        group(
            member(device=None, event_name="aten::softmax", delta=0.031, module_path=None),
            title="aten::softmax +3.1 % on pool phones, 1 model",
            id="g-12",
            state="new",
            dumps_needed=4,
        ),
        group(member(delta=-0.084, event_name="aten::addmm"), id="g-3", title="aten::addmm −8.4 %"),
        group(
            member(event_name="aten::gelu"),
            id="g-4",
            title="aten::gelu +6.2 % on 1 device, 1 model",
            state="accepted",
            reason="exact gelu is wanted",
        ),
        group(
            member(event_name="aten::cat"),
            id="g-5",
            title="aten::cat +6.2 % on 1 device, 1 model",
            state="fixed",
            fixed_in="b41",
        ),
        summary="2 causes made operators slower, on 8 of 9 devices; the costliest since build b40.",
        run_shifts=[
            RunShift(**here, shift=0.034, limit=0.03, is_notable=True),
            RunShift(**s24, shift=0.004, limit=0.03, is_notable=False),
        ],
        operator_changes=[
            OperatorChange(
                change=SeriesVerdict.NEW_OP, **here, **new_op, cost_ns=18_400.0, detail="after #8"
            ),
            OperatorChange(
                change=SeriesVerdict.MOVED,
                **s24,
                **new_op,
                cost_ns=None,
                detail="from the delegate to the CPU",
            ),
        ],
        exact_changes=[
            ExactChange(**here, measure="allocated_bytes", base=1_048_576, head=1_310_720)
        ],
        framework_tax=[TaxRow(**here, base_percent=3.2, head_percent=3.4)],
        coverage=coverage(
            missing=[
                Missing(
                    device="watch2", model="kws", backend=None, last_build="b38", is_expected=False
                )
            ],
            too_few=["iphone15 mobilenet_v2 coreml: 2 dumps, 5 wanted"],
        ),
        quality=Quality(
            stability=[
                stability("pixel8"),
                stability("budget-1", cv=0.214, score=41.0, note="its noise hides up to 22 %"),
            ],
            environment=[EnvironmentChange(**s24, attribute="os_version", base="14", head="15")],
            warnings=["pixel8 ran at two firmware versions"],
        ),
        refused=[
            RefusedFile(
                source="s24/b42/run_007.etdp", reason="truncated", detail="offset 24: ends early"
            )
        ],
    )


def large_report(group_count: int = 200, member_count: int = 40) -> Report:
    """As many groups of as many members, each with 60 dumps and 14 builds."""
    members = [member(device=f"device-{i:03}") for i in range(member_count)]
    groups = [group(*members, id=f"g-{i}") for i in range(group_count)]
    return report(*groups)


def named_report(names: Sequence[str]) -> Report:
    """A report whose every text from outside is one of the names."""
    groups = [_named_group(name) for name in names]
    first = names[0]
    here: dict[str, Any] = {"device": first, "model": first, "backend": first}
    change: dict[str, Any] = {"run": first, "event_name": first, "delegate_id": first, "ordinal": 1}
    return report(
        *groups,
        head=first,
        base=list(names),
        summary=first,
        commits=dict.fromkeys(names, first),
        notes=list(names),
        reference_drift=[
            ReferenceDrift(
                device=name,
                references=[name],
                points=[DriftPoint(session=name, recorded_on=None, drift=0.02)],
            )
            for name in names
        ],
        operator_changes=[
            OperatorChange(change=SeriesVerdict.MOVED, **here, **change, cost_ns=1, detail=first)
        ],
        exact_changes=[ExactChange(**here, measure=name, base=1, head=2) for name in names],
        framework_tax=[TaxRow(**here, base_percent=1, head_percent=None)],
        coverage=coverage(
            missing=[Missing(**here, last_build=name, is_expected=True) for name in names],
            too_few=list(names),
        ),
        quality=Quality(
            stability=[stability(name, note=name) for name in names],
            environment=[
                EnvironmentChange(**here, attribute=name, base=name, head=name) for name in names
            ],
            warnings=list(names),
        ),
        refused=[RefusedFile(source=name, reason=name, detail=name) for name in names],
        verdict_counts=dict.fromkeys(names, 1),
        rules={name: name for name in names},
        point_notes=[_named_note(name) for name in names],
    )


def _named_note(name: str) -> Note:
    """A note on the whole build of this name, in which all else has the name, too."""
    on = dict.fromkeys(Point._fields)
    signed = {"written_by": name, "written_at": datetime(2026, 3, 1, tzinfo=UTC)}
    return Note(note_id="5d1c0e9f7a2b", text=name, **signed, **{**on, "build": name})


def _named_group(name: str) -> Group:
    history = [BuildPoint(build=name, dump_count=3, median_ns=ns) for ns in (1.0, 2.0)]
    one = member(
        device=name, pool=name, model=name, backend=name, event_name=name, delegate_id=name,
        kind=name, module_path=name, history=history, may_be=name, rule=name,
    )  # fmt: skip
    return group(
        one, title=name, id=name, first_bad=name, last_good=name, explains=[one], reason=name,
        owner=name, fixed_in=name, commands=[name],
    )  # fmt: skip


_DEVICES = ("pixel8", "pixel7", "s24", "s23", "iphone15", "budget-1", "budget-2", "tablet-3")
