"""Each section of docs/inspector-differences.md shows in the dump that it names."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.support.corpus import CORPUS
from tests.tools.parity.bugs import Bug
from tests.tools.parity.files import SUFFIX, judge_file

PAGE = Path(__file__).parents[1] / "docs" / "inspector-differences.md"
SECTIONS = dict(re.findall(r"^### (\w+) .+?$(.+?)(?=^##|\Z)", PAGE.read_text(), re.M | re.S))
EXAMPLES = [
    (number, dump, variant)
    for number, text in SECTIONS.items()
    for dump, variant in re.findall(r"^Example: `(\S+)` `(\w+)`: ", text, re.M)
]


def test_every_difference_has_a_section():
    assert sorted(SECTIONS) == sorted(bug.name for bug in Bug)


def test_every_section_has_an_example():
    assert {number for number, _, _ in EXAMPLES} == SECTIONS.keys()


@pytest.mark.parametrize(("number", "dump", "variant"), EXAMPLES)
def test_the_example_differs_from_the_inspector_by_that_number(number, dump, variant):
    findings = judge_file(CORPUS, CORPUS / f"{dump}{SUFFIX}")
    [verdict] = [finding.verdict for finding in findings if finding.variant == variant]
    assert Bug[number] in verdict.bugs
    assert not verdict.unexplained
