from __future__ import annotations

import pytest

from tracehouse.ingest.strict_json import MAX_DEPTH, parse_finite_json, parse_json


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('{"a": NaN}', "line 1 column 7: found NaN, wanted a finite number"),
        ("[1,\n -Infinity]", "line 2 column 2: found -Infinity, wanted a finite number"),
        (
            '["1e999 1e999", 1,\n1e999]',
            "line 2 column 1: found 1e999, wanted a number below 1.8e308",
        ),
        (
            f"[-{'1' * 300}]",
            f"line 1 column 2: found -{'1' * 39}, wanted an integer of at most 300",
        ),
        (
            f"[{'9' * 5_000}]",
            f"line 1 column 2: found {'9' * 40}, wanted an integer of at most 300",
        ),
        ("[" * (MAX_DEPTH + 1) + "]" * (MAX_DEPTH + 1), "nested more than 64 deep"),
        ("[" * 100_000, "nested more than 64 deep"),
        ('{"a":' * 100_000, "nested more than 64 deep"),
        ("[1,2,3,4,5]", "has 5 commas, colons and brackets, wanted at most 4"),
        ('{"a":1,"a":2}', "has the key 'a' twice in one object, wanted once"),
        (r'"\ud800"', "half of a surrogate pair"),
        ("[1", "Expecting ',' delimiter: line 1 column 3"),
        ("\ufeff[1]", "Expecting value"),
    ],
)
def test_json_that_is_not_finite_says_why_and_where(text: str, problem: str) -> None:
    marks = 4 if text == "[1,2,3,4,5]" else 1_000_000
    with pytest.raises(ValueError, match="^" + problem.replace("[", r"\[")):
        parse_finite_json(text, most_marks=marks)


def test_finite_json_is_parsed_up_to_its_limits() -> None:
    deep = "[" * MAX_DEPTH + "]" * MAX_DEPTH
    assert str(parse_finite_json(deep, most_marks=MAX_DEPTH)) == deep
    number = "9" * 300
    assert parse_finite_json(f'{{"a": [{number}, 1.7e308, 1e-999]}}', most_marks=5) == {
        "a": [int(number), 1.7e308, 0.0]
    }
    assert parse_finite_json("5", most_marks=0) == 5


def test_programs_may_have_any_number() -> None:
    assert str(parse_json('{"fill": [-Infinity, NaN]}')) == "{'fill': [-inf, nan]}"
    with pytest.raises(ValueError, match=r"is not JSON \(Exceeds the limit \(4300 digits\)"):
        parse_json("9" * 5_000)
