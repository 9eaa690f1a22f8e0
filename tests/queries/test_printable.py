from __future__ import annotations

import json
import sys

import pytest

from tracehouse.queries.printable import json_text, printable, shorten

EVERY = range(sys.maxunicode + 1)
STEERING = [
    *map(chr, range(0x20)), *map(chr, range(0x7F, 0xA0)), "\u061c", "\u200e", "\u200f",
    *map(chr, range(0x202A, 0x202F)), *map(chr, range(0x2066, 0x206A)), "\u200b", "\u200d",
    "\ufeff", "\u2028", "\u2029", "\ud800", "\udfff", "\U000e0041",
]  # fmt: skip


@pytest.mark.parametrize("escape", [printable, json_text])
@pytest.mark.slow
def test_escaping_removes_all_terminal_control_characters(escape):
    assert escape("".join(map(chr, EVERY))).isprintable()
    assert not [character for character in STEERING if character in escape(f"a{character}b")]


def test_letters_of_every_script_stay_readable():
    text = "größe ∞ 日本語 e\u0301 עברית 🙂 \\"
    assert printable(text) == text
    assert json_text([text]) == json.dumps([text], ensure_ascii=False)


@pytest.mark.slow
def test_json_decodes_to_the_same():
    # No high surrogate before a low one: these are a pair.
    text = "".join(map(chr, reversed(EVERY)))
    assert json.loads(json_text({text: [text]})) == {text: [text]}


def test_json_of_a_float_that_is_not_finite_is_refused():
    with pytest.raises(ValueError, match="not JSON compliant"):
        json_text([float("nan")])


def test_escapes_are_those_of_python():
    assert printable("a\n\x9b\u202e\U000e0041") == r"a\n\x9b\u202e\U000e0041"


def test_text_is_cut_in_its_last_quarter_to_the_number_of_characters():
    assert shorten("x" * 8, 8) == "x" * 8
    assert shorten("abcdefghi", 8) == "abcdef…i"
    assert shorten("x" * 7_000_000, 4) == "xxx…"
    assert {len(shorten("x" * 1000, most)) for most in range(4, 300)} == set(range(4, 300))
