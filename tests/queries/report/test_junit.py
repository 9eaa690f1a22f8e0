from __future__ import annotations

from xml.etree import ElementTree

import pytest

from tests.support.reports import full_report, group, member, named_report, read_xml
from tests.support.reports import report as report_of
from tests.support.strange_names import LONG_NAME, NAMES
from tracehouse.queries.report.junit import junit_text


def test_confirmed_regressions_fail_and_suspects_are_skipped() -> None:
    assert outcomes(full_report()) == {
        ("tracehouse.report", "verdict"): "system-out",
        ("tracehouse.regression", "native_call_convolution.out g-5f1c9a2e"): "failure",
        ("tracehouse.regression", "vk_linear g-77"): "failure",
        ("tracehouse.regression", "aten::softmax g-12"): "skipped",
        ("tracehouse.improvement", "aten::addmm g-3"): "system-out",
        ("tracehouse.regression", "aten::gelu g-4"): "system-out",
        ("tracehouse.regression", "aten::cat g-5"): "system-out",
        ("tracehouse.measured", "pixel8 · mobilenet_v2 · xnnpack"): "system-out",
        ("tracehouse.measured", "budget-1 · mobilenet_v2 · xnnpack"): "system-out",
        ("tracehouse.measured", "watch2 · kws"): "skipped",
        ("tracehouse.dumps", "s24/b42/run_007.etdp"): "error",
    }


def test_counts_are_those_of_the_cases() -> None:
    root = parsed(full_report())
    assert counts(root) == (11, 2, 1, 2)
    assert [counts(suite) for suite in root] == [(7, 2, 0, 1), (3, 0, 0, 1), (1, 0, 1, 0)]
    for suite in root:
        assert len(suite.findall("testcase")) == int(suite.get("tests", ""))


def test_a_junit_failure_says_what_where_and_how_to_reproduce_it() -> None:
    failure = next(parsed(full_report()).iter("failure"))
    assert failure.get("message") == (
        "▲ native_call_convolution.out +6.2 % on 8 devices, 1 model, +499.3 µs per run "
        "(confirmed, since b40, last good b39)"
    )
    lines = (failure.text or "").splitlines()
    assert "Owner: kernels@example.org" in lines
    assert (
        "pixel8 · mobilenet_v2 · xnnpack: convolution #3 +6.2 % "
        "(+4.9 % to +7.4 %), 1.240 ms to 1.317 ms"
    ) in lines
    assert lines[-1].startswith("git bisect start b40 b39 && ")


def test_a_report_always_has_a_case() -> None:
    assert outcomes(report_of()) == {("tracehouse.report", "verdict"): "system-out"}
    short = report_of(verdict="not_enough_data")
    assert outcomes(short) == {("tracehouse.report", "verdict"): "skipped"}


def test_members_past_the_twentieth_are_counted() -> None:
    members = [member(device=f"d{i}") for i in range(23)]
    failure = next(parsed(report_of(group(*members))).iter("failure"))
    assert "\n3 more series\n" in (failure.text or "")


@pytest.mark.parametrize(
    "name", [*NAMES, LONG_NAME, "]]>", "<a>&b", '"'], ids=lambda n: ascii(n[:9])
)
def test_names_are_text_that_xml_can_hold(name: str) -> None:
    text = junit_text(named_report([name]))
    assert text.replace("\n", "").isprintable()
    assert len(read_xml(text)) == 3
    assert len(text) < 30_000


def parsed(report) -> ElementTree.Element:
    return read_xml(junit_text(report))


def counts(element: ElementTree.Element) -> tuple[int, ...]:
    names = ("tests", "failures", "errors", "skipped")
    return tuple(int(element.get(name, "")) for name in names)


def outcomes(report) -> dict[tuple[str | None, str | None], str]:
    cases = parsed(report).iter("testcase")
    return {(case.get("classname"), case.get("name")): case[0].tag for case in cases}
