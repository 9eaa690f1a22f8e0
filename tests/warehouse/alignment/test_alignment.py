from __future__ import annotations

from random import Random

import pytest

from tests.support.edited_programs import (
    EDITS,
    Edited,
    Item,
    edit_program,
    edit_real_programs,
    make_program,
    measure,
    real_programs,
)
from tracehouse.warehouse.alignment.alignment import align
from tracehouse.warehouse.alignment.programs import Program

FAST, ALL = 1_500, 10_000


def kernels(*named: tuple[str, float]) -> tuple[Item, ...]:
    return tuple(Item(tag, "kernel", name, ns, -1) for tag, (name, ns) in enumerate(named))


def aligned(edited: Edited, random: Random) -> tuple[Program, Program, dict[int, int]]:
    base = make_program(edited.base)
    head = make_program(edited.head, first_number=7 if edited.is_renumbered else 1)
    times = measure(random, base, edited.base), measure(random, head, edited.head)
    return base, head, align(base, head, times)


def pairs_of(base: tuple[Item, ...], head: tuple[Item, ...]) -> dict[int, int]:
    """Operators of the base by what they became, all by their tags."""
    one, other = make_program(base), make_program(head)
    times = [
        [{item.tag: item.ns for item in own}.get(event.id, 0) for event in program.events]
        for own, program in ((base, one), (head, other))
    ]
    found = align(one, other, (times[0], times[1]))
    return {one.events[a].id: other.events[b].id for a, b in found.items()}


@pytest.mark.parametrize("count", [FAST, pytest.param(ALL, marks=pytest.mark.slow, id="all")])
def test_random_edits_of_real_programs_harm_no_operator_that_was_not_edited(count: int) -> None:
    random, operators, harmed = Random(51), 0, 0  # noqa: S311 - edits
    for edited in edit_real_programs(random, count):
        base, head, found = aligned(edited, random)
        true = {item.tag: item.ns for item in (*edited.base, *edited.head)}
        for one, other in enumerate(base.events):
            if base.operators[one].kind == "delegate_call" or other.id in edited.touched:
                continue
            operators += 1
            partner = head.events[found[one]].id if one in found else None
            if partner != other.id:
                apart = abs(true[other.id] - true.get(partner, -1e9))
                harmed += apart > max(1_000, 0.05 * true[other.id])
    assert harmed <= operators / 2_000, (harmed, operators)
    assert operators > 15 * count


def test_every_operator_is_in_one_pair_at_most() -> None:
    random = Random(7)  # noqa: S311 - edits
    for number in range(400):
        kind = EDITS[number % len(EDITS)]
        edited = edit_program(random, random.choice(real_programs()), kind)
        if edited is None:
            continue
        base, head, found = aligned(edited, random)
        assert set(found) <= set(range(len(base.operators)))
        assert set(found.values()) <= set(range(len(head.operators)))
        assert len(set(found.values())) == len(found)


def test_swapped_programs_have_the_opposite_alignment() -> None:
    random, differing = Random(11), 0  # noqa: S311 - edits
    for number in range(300):
        kind = EDITS[number % len(EDITS)]
        edited = edit_program(random, random.choice(real_programs()), kind)
        if edited is None:
            continue
        base, head = make_program(edited.base), make_program(edited.head)
        times = measure(random, base, edited.base), measure(random, head, edited.head)
        forth, back = align(base, head, times), align(head, base, times[::-1])
        differing += forth != {one: other for other, one in back.items()}
    assert differing <= 3  # ties between equals


def test_an_operator_inserted_before_an_equal_one_is_the_new_one() -> None:
    base = kernels(("native_call_convolution.out", 5e5), ("native_call_convolution.out", 2e5))
    new = Item(9, "kernel", "native_call_convolution.out", 9e4, -1)
    assert pairs_of(base, (new, *base)) == {0: 0, 1: 1}
    assert pairs_of(base, (base[0], new, base[1])) == {0: 0, 1: 1}


def test_an_operator_that_falls_back_to_a_kernel_stays_the_same() -> None:
    inside = tuple(
        Item(tag, "delegate_op", name, ns, 1_000_000)
        for tag, (name, ns) in enumerate(
            [("Convolution (NHWC, F32) IGEMM", 3e5), ("Add (ND, F32)", 2e4), ("Softmax (NC)", 9e3)]
        )
    )
    fallback = Item(1, "kernel", "native_call_add.out", 8e4, -1)
    head = (inside[0], fallback, inside[2]._replace(call=2_000_000))
    assert pairs_of(inside, head) == {0: 0, 1: 1, 2: 2, -1: -1}


def test_unlike_operators_are_never_paired() -> None:
    base, head = kernels(("native_call_add.out", 1e5)), kernels(("native_call_mm.out", 1e5))
    assert pairs_of(base, head) == {}


def test_modules_decide_between_equal_names() -> None:
    def program(*modules: str) -> Program:
        items = kernels(*[("native_call_addmm.out", 1e5)] * len(modules))
        events = make_program(items).events
        return Program([e._replace(module=m) for e, m in zip(events, modules, strict=True)])

    found = align(program("a", "c"), program("a", "b", "c"))
    assert found == {0: 0, 1: 2}


def test_an_operator_that_moved_once_stays_the_same() -> None:
    base = kernels(("native_call_add.out", 1e5), ("native_call_mm.out", 2e5),
                   ("native_call_mul.out", 3e5))  # fmt: skip
    assert pairs_of(base, (base[1], base[2], base[0])) == {0: 0, 1: 1, 2: 2}
