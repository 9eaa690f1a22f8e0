from __future__ import annotations

from collections.abc import Sequence

import pytest

from tracehouse.warehouse.alignment.alignment import Aligned, Guess, find_guesses

CONV, RELU = "conv", "relu"
_One = tuple[str, int, float]  # likeness, number, nanoseconds


def guesses(base: Sequence[_One], head: Sequence[_One]) -> list[Guess]:
    """The guesses among operators, which have the same key if name and number are the same."""
    sides = [[Aligned((like, n), like, ns) for like, n, ns in own] for own in (base, head)]
    return find_guesses(*sides)


def convs(*numbered: tuple[int, float]) -> list[_One]:
    return [(CONV, number, ns) for number, ns in numbered]


FOUR = convs((1, 200_000), (2, 210_000), (3, 190_000), (4, 200_000))


@pytest.mark.parametrize("new_ns", [200_000, 150_000, 350_000])
def test_the_new_one_of_five_equally_fast_convolutions_is_a_guess(new_ns: float) -> None:
    head = [*FOUR[:2], *convs((5, new_ns)), *FOUR[2:]]
    (found,) = guesses(FOUR, head)
    assert found == Guess(tuple((CONV, n) for n in (1, 2, 3, 4)),
                          tuple((CONV, n) for n in (1, 2, 5, 3, 4)))  # fmt: skip
    (back,) = guesses(head, FOUR)
    assert back == Guess(found.head, found.base)


@pytest.mark.parametrize("new_ns", [9_000, 900_000])
def test_a_distinctive_time_identifies_the_new_operator(new_ns: float) -> None:
    assert guesses(FOUR, [*FOUR[:2], *convs((5, new_ns)), *FOUR[2:]]) == []


def test_an_operator_of_another_name_or_module_is_no_guess() -> None:
    assert guesses(FOUR, [*FOUR[:2], (RELU, 1, 200_000), *FOUR[2:]]) == []


def test_a_guess_does_not_extend_beyond_operators_of_another_name() -> None:
    base = [*FOUR[:2], (RELU, 1, 9_000), *FOUR[2:]]
    (found,) = guesses(base, [*FOUR[:1], *convs((5, 205_000)), *FOUR[1:2], *base[2:]])
    assert found.base == ((CONV, 1), (CONV, 2))


def test_only_operators_that_may_have_swapped_their_parts_are_in_the_guess() -> None:
    base = convs((1, 900_000), (2, 200_000), (3, 210_000), (4, 20_000))
    (found,) = guesses(base, [*base[:2], *convs((5, 205_000)), *base[2:]])
    assert found.head == ((CONV, 2), (CONV, 5), (CONV, 3))


def test_several_new_operators_are_one_guess() -> None:
    (found,) = guesses(FOUR[:2], [FOUR[0], *convs((5, 2e5), (6, 2e5)), FOUR[1]])
    assert [len(found.base), len(found.head)] == [2, 4]


def test_an_unknown_time_leaves_the_new_operator_a_guess() -> None:
    (found,) = guesses(FOUR[:1], [*FOUR[:1], *convs((5, float("nan")))])
    assert found.head == ((CONV, 1), (CONV, 5))


def test_all_new_operators_are_certain() -> None:
    assert guesses([(RELU, 1, 9_000)], [(RELU, 1, 9_000), *FOUR]) == []
