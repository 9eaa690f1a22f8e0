"""Logged values of two builds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from tests.tools.audit.oracles.places import Params, Row, chosen, two_builds
from tests.tools.audit.oracles.runs import when
from tests.tools.audit.recordings import Recording, Run

NOT_NAMED = ("operator_call", "method", "load")


def numeric_divergence(dumps: Sequence[Recording], params: Params) -> list[Row]:
    """For integers logged by kernels; other values are the business of numeric-gap."""
    rows = []
    left = [d for d in chosen(dumps, params, "build") if any(run.values for run in d.runs)]
    pair = {name: params[name] for name in ("base", "head")}
    for where, sides in two_builds(left, pair):
        base, head = sides
        counts = {"base_dumps": len(base), "head_dumps": len(head)}
        rows.append(where | counts | _pair(max(base, key=when), max(head, key=when)))
    return rows


def _pair(base: Recording, head: Recording) -> Row:
    mine, theirs = _values(base), _values(head)
    both = [key for key in mine if key in theirs]
    equal = [key for key in both if mine[key][0] == theirs[key][0]]
    first = next((key for key in mine if key in both and key not in equal), None)
    row: Row = {
        "base_dump_id": base.number,
        "head_dump_id": head.number,
        "base_count": len(mine),
        "compared_count": len(both),
        "equal_count": len(equal),
        "verdict": "not_compared" if not both else "equal" if first is None else "different",
        "delegate_id": None,
    }
    names = ("event_name", "ordinal", "value_index", "instruction_id", "run_index")
    if first is None:
        return row | dict.fromkeys(names)
    _, name, ordinal, index = first
    return row | dict(zip(names, (name, ordinal, index, *mine[first][1]), strict=True))


def _values(dump: Recording) -> dict[tuple[int, str, int, int], tuple[int, tuple[int, int]]]:
    """Values in order: run, operator, its ordinal and which value; with instruction and run."""
    found = {}
    for number, run in enumerate((run for run in dump.runs if run.values), start=1):
        seen: Counter[int] = Counter()
        for value in run.values:
            instruction = value["instruction_id"]
            name, ordinal = _operator(run, instruction)
            key = number, name, ordinal, seen[instruction]
            seen[instruction] += 1
            logged = value["debug_entry"]["int_value"]["int_val"]
            found[key] = logged, (instruction, run.index)
    return found


def _operator(run: Run, instruction: int) -> tuple[str, int]:
    names = {e.instruction: e.name for e in run.events if e.kind not in NOT_NAMED}
    name = names[instruction]
    alike = sorted(i for i, other in names.items() if other == name and i is not None)
    return name, alike.index(instruction) + 1
