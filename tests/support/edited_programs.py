"""Real programs, and random edits of them of which the truth is known."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from random import Random
from typing import NamedTuple

import numpy as np

from tests.support.corpus import FARM, dump_names, read_dump
from tracehouse import decode_dumps
from tracehouse.warehouse.alignment.programs import Event, Name, Program

_PORTABLE = {  # a kernel, and what XNNPACK calls its work
    "native_call_convolution.out": "Convolution (NHWC, F32) IGEMM",
    "native_call_addmm.out": "Fully Connected (NC, F32) GEMM",
    "native_call_add.out": "Add (ND, F32)",
    "native_call_mul.out": "Multiply (ND, F32)",
    "native_call__softmax.out": "Softmax (NC, F32)",
}
_DELEGATED = {name: kernel for kernel, name in _PORTABLE.items()}
_NEW = ("native_call_permute_copy.out", "native_call_clone.out", "native_call_mul.out")


class Item(NamedTuple):
    """An operator of a program.

    Attributes:
        tag: Tells it from all others, through all edits.
        kind: kernel or delegate_op.
        name: Its name, without a number.
        ns: Its true time.
        call: Tag of the delegate call that it is inside; -1 for a kernel.
    """

    tag: int
    kind: str
    name: str
    ns: float
    call: int


class Edited(NamedTuple):
    """A program before and after an edit.

    Attributes:
        base: The operators before.
        head: The operators after.
        touched: Tags of operators that the edit changed, added or removed.
        is_renumbered: Whether delegates number their operators otherwise after it.
    """

    base: tuple[Item, ...]
    head: tuple[Item, ...]
    touched: frozenset[int]
    is_renumbered: bool


@cache
def real_programs() -> tuple[tuple[Item, ...], ...]:
    """The operators of shipped dumps of different programs, with their median times."""
    found: dict[tuple[tuple[str, str], ...], tuple[Item, ...]] = {}
    names = dump_names("models", "real", "capi")
    dumps = [read_dump(name) for name in names]
    dumps += [next(folder.glob("*.etdp")).read_bytes() for folder in sorted(FARM.glob("*/*/*/"))]
    for data in dumps:
        items = _read_items(data)
        if len(items) > 3:
            found.setdefault(tuple((one.kind, one.name) for one in items), items)
    return tuple(found.values())


def _read_items(data: bytes) -> tuple[Item, ...]:
    tables = decode_dumps([data]).tables
    signatures = {row["event_signature_id"]: row for row in tables["event_signatures"].to_pylist()}
    times: dict[tuple[int, int], list[int]] = {}
    for row in tables["events"].to_pylist():
        key = row["run_signature_id"], row["event_signature_id"]
        times.setdefault(key, []).append(row["duration_ticks"])
    items: list[Item] = []
    for run in tables["run_signatures"].to_pylist():
        kinds = [signatures[id_]["kind"] for id_ in run["events"]]
        if "method" not in kinds or len(run["events"]) < len(items):
            continue
        items = []
        for id_ in run["events"]:
            event = signatures[id_]
            if event["kind"] in ("kernel", "delegate_op"):
                name = event["name"] or event["delegate_id_str"] or str(event["delegate_id_int"])
                is_delegated = event["kind"] == "delegate_op"
                call = 1_000_000 + event["instruction_id"] if is_delegated else -1
                ns = float(np.median(times.get((run["run_signature_id"], id_), [0])))
                name = name.split(" #")[0]
                items.append(Item(len(items), event["kind"], name, ns, call))
    return tuple(items)


def edit_program(random: Random, base: Sequence[Item], kind: str) -> Edited | None:
    """A program with one random edit; None if the program has nothing to edit in this way."""
    edited = _EDITORS[kind](random, base, random.randrange(len(base)))
    if edited is None:
        return None
    head, touched = edited
    return Edited(tuple(base), tuple(head), frozenset(touched), kind == "renumber")


def edit_real_programs(random: Random, count: int) -> Iterator[Edited]:
    """So many real programs with one random edit each, the kinds of edits in turn."""
    done = 0
    while done < count:
        edited = edit_program(random, random.choice(real_programs()), EDITS[done % len(EDITS)])
        if edited is not None:
            done += 1
            yield edited


_Edit = tuple[list[Item], set[int]] | None


def _insert(random: Random, base: Sequence[Item], at: int, most: int = 1) -> _Edit:
    tags = range(10_000, 10_000 + random.randint(1, most))
    new = [_new_item(random, base, at, tag) for tag in tags]
    return [*base[:at], *new, *base[at:]], set(tags)


def _insert_block(random: Random, base: Sequence[Item], at: int) -> _Edit:
    return _insert(random, base, at, 5)


def _remove(_: Random, base: Sequence[Item], at: int) -> _Edit:
    return [*base[:at], *base[at + 1 :]], {base[at].tag}


def _repeat(_: Random, base: Sequence[Item], at: int) -> _Edit:
    again = base[at]._replace(tag=10_000)
    return [*base[: at + 1], again, *base[at + 1 :]], {10_000}


def _swap(_: Random, base: Sequence[Item], at: int) -> _Edit:
    here, after = base[at], base[at + 1] if at + 1 < len(base) else None
    if after is None or after.call != here.call:
        return None
    return [*base[:at], after, here, *base[at + 2 :]], {here.tag, after.tag}


def _rename(_: Random, base: Sequence[Item], at: int) -> _Edit:
    here = base[at]
    if here.name.isdigit():
        return None
    name = f"{here.name} (F16)" if here.kind == "delegate_op" else f"{here.name}_fast"
    return [*base[:at], here._replace(name=name), *base[at + 1 :]], set()  # as fast as before


def _renumber(_: Random, base: Sequence[Item], __: int) -> _Edit:
    return list(base), set()


def _delegate(_: Random, base: Sequence[Item], at: int) -> _Edit:
    here = base[at]
    if here.name not in _PORTABLE:
        return None
    moved = Item(here.tag, "delegate_op", _PORTABLE[here.name], here.ns / 2, 2_000_000)
    return [*base[:at], moved, *base[at + 1 :]], {here.tag}


def _undelegate(_: Random, base: Sequence[Item], at: int) -> _Edit:
    """An operator falls back to a kernel; what follows in its call is a call of its own."""
    here = base[at]
    if here.name not in _DELEGATED:
        return None
    moved = Item(here.tag, "kernel", _DELEGATED[here.name], here.ns * 2, -1)
    rest = [
        item._replace(call=3_000_000) if item.call == here.call else item for item in base[at + 1 :]
    ]
    return [*base[:at], moved, *rest], {here.tag}


_EDITORS: Mapping[str, Callable[[Random, Sequence[Item], int], _Edit]] = {
    "insert": _insert,
    "block": _insert_block,
    "remove": _remove,
    "rename": _rename,
    "swap": _swap,
    "repeat": _repeat,
    "renumber": _renumber,
    "delegate": _delegate,
    "undelegate": _undelegate,
}
EDITS = tuple(_EDITORS)


def _new_item(random: Random, base: Sequence[Item], at: int, tag: int) -> Item:
    like = random.choice(base)
    ns = max(2_000.0, like.ns * random.uniform(0.5, 2))
    if random.random() < 0.7:  # an operator of a name that the program has
        return Item(tag, like.kind, like.name, ns, _call_at(base, at, like))
    return Item(tag, "kernel", random.choice(_NEW), ns, -1)


def _call_at(base: Sequence[Item], at: int, like: Item) -> int:
    """The call of what stands at a place, if it is delegated, too; else one of its own."""
    if like.kind == "kernel":
        return -1
    return base[at].call if base[at].call >= 0 else 4_000_000


def make_program(items: Sequence[Item], *, first_number: int = 1) -> Program:
    """The program of operators, numbered as XNNPACK does."""
    events: list[Event] = []
    numbers: Counter[str] = Counter()
    instruction, call = -1, -1
    for item in items:
        if item.kind == "kernel" or item.call != call:
            instruction += 1
        if item.kind == "delegate_op" and item.call != call:
            name = Name("DELEGATE_CALL", None, instruction, "delegate_call", None)
            events.append(Event(-1 - instruction, instruction, "DELEGATE_CALL", None, name))
        call = item.call
        numbers[item.name] += 1
        logged = item.name
        if item.kind == "delegate_op" and not item.name.isdigit():
            logged = f"{item.name} #{numbers[item.name] + first_number - 1}"
        name = Name(logged, None, numbers[item.name], item.kind, item.name)
        events.append(Event(item.tag, instruction, logged, None, name))
    return Program(events)


def measure(random: Random, program: Program, items: Sequence[Item]) -> tuple[float, ...]:
    """The times of a program's operators in one build: 1 % noise each, and 2 % of all."""
    true = {item.tag: item.ns for item in items}
    all_of_them = 1 + 0.02 * random.gauss(0, 1)
    return tuple(
        true.get(event.id, 0.0) * all_of_them * (1 + 0.01 * random.gauss(0, 1))
        for event in program.events
    )
