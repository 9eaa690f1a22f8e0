"""The differences of two programs, call by call. Pure.

Calls are matched by module, target and their order there: a call that is added elsewhere shifts
nothing.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping
from itertools import chain
from typing import TYPE_CHECKING, TypeVar

from tracehouse.queries.explain.content import ChangeKind, ProgramChange
from tracehouse.queries.explain.operators import RunOrigins
from tracehouse.queries.explain.stored_programs import Node, Program
from tracehouse.queries.report.figures import NONE, count_text

if TYPE_CHECKING:
    import pyarrow as pa

_ITEMS = re.compile(
    r"\b\w+(?:\[[^\]]{0,1000}\]|=(?:\[[^\]]{0,1000}\]|'[^']{0,1000}'|[^,()]{1,1000}))"
)
_Key = tuple[str, str, int]
_Value = TypeVar("_Value")


def compare_stored(
    base: Program, head: Program, base_run: RunOrigins, head_run: RunOrigins
) -> list[ProgramChange]:
    """The differences of two programs: calls, delegates, fusions, constants.

    The runs show what runs each call.
    """
    calls = _calls(base, base_run), _calls(head, head_run)
    return [
        *_call_changes(*calls, base_run.where, head_run.where),
        *_changes("delegate", _delegates(base, base_run), _delegates(head, head_run)),
        *_changes("fusion", _fusions(base, base_run), _fusions(head, head_run)),
        *_changes(
            "constant",
            base.constants.get(base_run.method, {}),
            head.constants.get(head_run.method, {}),
        ),
    ]


def changes_of_files(rows: pa.Table) -> list[ProgramChange]:
    """The differences of two program files, from the rows of `compare_programs`."""
    return [
        ProgramChange(
            change=_kind(row["base"], row["head"]),
            part=row["part"],
            name=": ".join(filter(None, (row["method"], row["name"]))),
            base=_amount(row["base"], row["unit"]),
            head=_amount(row["head"], row["unit"]),
        )
        for row in rows.to_pylist()
    ]


def diff_calls(base: str | None, head: str | None) -> tuple[str, str]:
    """The types and arguments in which two calls differ.

    >>> diff_calls("(f32[2], dim=1) → f32[2] in a kernel", "(f32[3], dim=1) → f32[2] in a kernel")
    ('f32[2]', 'f32[3]')
    """
    if base is None or head is None:
        return base or NONE, head or NONE
    was, now = (_ITEMS.findall(text) for text in (base, head))
    where = [text.partition(" in ")[2] for text in (base, head)]
    if len(was) != len(now) or where[0] != where[1]:
        return base, head
    pairs = [(a, b) for a, b in zip(was, now, strict=True) if a != b]
    if not pairs:
        return base, head
    first, second = zip(*pairs, strict=True)
    return ", ".join(first), ", ".join(second)


def _kind(base: object, head: object) -> ChangeKind:
    return "added" if base is None else "removed" if head is None else "changed"


def _amount(value: int | None, unit: str) -> str | None:
    return None if value is None else f"{value:,} bytes" if unit == "bytes" else f"{value:,}"


def _calls(program: Program, run: RunOrigins) -> dict[_Key, Node]:
    found: dict[_Key, Node] = {}
    seen: Counter[tuple[str, str]] = Counter()
    for node in program.nodes.get(run.method, ()):
        seen[node.module, node.target] += 1
        found[node.module, node.target, seen[node.module, node.target]] = node
    return found


def _call_changes(
    base: Mapping[_Key, Node],
    head: Mapping[_Key, Node],
    base_where: Callable[[Node], str],
    head_where: Callable[[Node], str],
) -> Iterator[ProgramChange]:
    for key in _joined(base, head):
        was, now = base.get(key), head.get(key)
        places = was and base_where(was), now and head_where(now)
        if was and now and was.types == now.types and places[0] == places[1]:
            continue
        module, target, number = key
        name = f"{target} #{number}" if number > 1 else target
        yield ProgramChange(
            change="moved" if was and now and was.types == now.types else _kind(was, now),
            part="operator",
            name=f"{module}: {name}" if module else name,
            base=was and _call_text(was, places[0]),
            head=now and _call_text(now, places[1]),
        )


def _call_text(node: Node, where: str | None) -> str:
    return f"{node.types.removeprefix(node.target)} in {where or 'no instruction'}"


def _changes(
    part: str, base: Mapping[str, str], head: Mapping[str, str]
) -> Iterator[ProgramChange]:
    for name in _joined(base, head):
        was, now = base.get(name), head.get(name)
        if was != now:
            yield ProgramChange(change=_kind(was, now), part=part, name=name, base=was, head=now)


def _joined(base: Mapping[_Value, object], head: Mapping[_Value, object]) -> list[_Value]:
    """The keys of the head in order, and those of the base alone after the keys before them."""
    alone: dict[_Value | None, list[_Value]] = defaultdict(list)
    last: _Value | None = None
    for key in base:
        if key in head:
            last = key
        else:
            alone[last].append(key)
    return [*alone[None], *chain.from_iterable((key, *alone[key]) for key in head)]


def _delegates(program: Program, run: RunOrigins) -> dict[str, str]:
    """The calls of each backend, and the operators in them."""
    calls = Counter(
        backend
        for (method, _), (_, backend) in program.calls.items()
        if method == run.method and backend
    )
    nodes = Counter(
        chain.from_iterable(run.where(node).split(", ") for node in program.nodes[run.method])
    )
    return {
        backend: f"{count_text(count, 'call')} of {count_text(nodes[backend], 'operator')}"
        for backend, count in sorted(calls.items())
    }


def _fusions(program: Program, run: RunOrigins) -> dict[str, str]:
    """The fused operators of delegates, and how often each is there."""
    counts: Counter[str] = Counter()
    for (own, _, _), handles in program.fusions.items():
        nodes = run.nodes_of(handles) if own == run.method else []
        if len(nodes) > 1:
            counts[" + ".join(node.operator for node in nodes)] += 1
    return {name: count_text(count, "time") for name, count in sorted(counts.items())}
