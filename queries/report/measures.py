"""Members that are measures of whole dumps, in their usual form: rates as rates."""

from __future__ import annotations

from tracehouse.queries.report.content import BuildPoint, Member
from tracehouse.warehouse.regressions.series_values import COUNTED, MEASURES, RATES


def as_measure(member: Member) -> Member:
    """A member as shown in reports; members other than measures of whole dumps are unchanged.

    The values of a rate are judged as their inverse, so that more is worse. The cost of a measure
    is not a cost per run.
    """
    if member.kind not in MEASURES:
        return member
    if member.kind not in COUNTED:
        return member.model_copy(update={"cost_ns": None})
    is_rate = member.kind in RATES
    ends = [member.delta, member.delta_low, member.delta_high]
    delta, low, high = (_inverse_share(share) if is_rate else share for share in ends)
    return member.model_copy(
        update={
            "unit": member.delegate_id,
            "delegate_id": None,
            "cost_ns": None,
            "delta": delta,
            "delta_low": high if is_rate else low,
            "delta_high": low if is_rate else high,
            "base_values": _shown(member.base_values, is_rate=is_rate),
            "head_values": _shown(member.head_values, is_rate=is_rate),
            "history": [_shown_point(point, is_rate=is_rate) for point in member.history],
        }
    )


def _inverse_share(share: float | None) -> float | None:
    return None if share is None else 1 / (1 + share) - 1


def _shown(values: list[float], *, is_rate: bool) -> list[float]:
    return sorted(1 / value for value in values) if is_rate else values


def _shown_point(point: BuildPoint, *, is_rate: bool) -> BuildPoint:
    if point.median is None or not is_rate:
        return point
    low, high = (None if edge is None else 1 / edge for edge in (point.p90, point.p10))
    return point.model_copy(update={"median": 1 / point.median, "p10": low, "p90": high})
