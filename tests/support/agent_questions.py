"""Questions about the farm that ships, and how a scripted agent finds the answers.

An agent knows what the tools say of themselves and what earlier answers say. Each question is a
generator of calls: it yields a tool and its arguments, is sent the answer, and returns a value.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Generator, Mapping
from typing import Any, NamedTuple

MOST_CALLS = 6
PAGED = re.compile(r'cursor="([^"]+)"')

Call = tuple[str, Mapping[str, Any]]
Plan = Generator[Call, str, Any]


class Question(NamedTuple):
    """A question, how it is answered, and the truth."""

    text: str
    plan: Callable[[], Plan]
    truth: Any


def rows_of(answer: str) -> list[dict[str, str]]:
    """The rows on a page, with the columns that are equal in all rows."""
    body = answer.partition("```csv\n")[2].partition("\n```")[0]
    equal = re.search(r"In all rows: (.*?)\.(?: Empty:|\n)", answer)
    pairs = (one.split(" = ") for one in equal[1].split(", ")) if equal else ()
    shared = dict(pair for pair in pairs if len(pair) == 2)
    shared = {name: value.strip('"') for name, value in shared.items()}
    return [{**shared, **row} for row in csv.DictReader(body.splitlines())]


def all_rows(tool: str, **arguments: Any) -> Generator[Call, str, list[dict[str, str]]]:
    """The rows on all pages of an answer."""
    answer = yield tool, arguments
    rows = rows_of(answer)
    while following := PAGED.search(answer):
        answer = yield tool, {**arguments, "cursor": following[1]}
        rows += rows_of(answer)
    return rows


def query_rows(name: str, **params: Any) -> Generator[Call, str, list[dict[str, str]]]:
    """The rows of a canned query, whose parameters the agent reads up before."""
    described = yield "describe_query", {"name": name}
    for param in params:
        assert f"* `{param}` (" in described, f"{name}: {param}"
    return (yield from all_rows("query", name=name, params=params))


def _slower(base: str, head: str, verdict: str) -> Callable[[], Plan]:
    def plan() -> Plan:
        rows = yield from query_rows("regression_deltas", base=base, head=head)
        return sorted({
            (row["model"], row["backend"], row["event_name"])
            for row in rows if row["verdict"] == verdict
        })  # fmt: skip

    return plan


def _dumps_in_all() -> Plan:
    rows = yield from all_rows("sql", statement="SELECT count(*) AS n FROM named_dumps")
    return rows[0]["n"]


def _takes_most() -> Plan:
    rows = yield from query_rows(
        "operator_hotspots", build=["base"], model=["conv"], backend=["portable"]
    )
    return rows[0]["event_name"]


def _refused() -> Plan:
    found = yield "find_query", {"question": "Which files were refused?"}
    (name,) = re.findall(r"^\* (\w*errors): Refused files", found, re.MULTILINE)
    answer = yield "query", {"name": name}
    return "No rows." in answer


def _wrong_name_first() -> Plan:
    params = {"model": ["conv"], "backend": ["portable"]}
    answer = yield "query", {"name": "percentiles", "params": {**params, "build": ["bas"]}}
    (build,) = re.findall(r"did you mean (\S+)\?", answer)
    rows = yield from query_rows("percentiles", **params, build=[build])
    (found,) = {row["sample_count"] for row in rows if row["event_name"] == "Method::execute"}
    return build, int(found)


def _says(tool: str, text: str, **arguments: Any) -> Callable[[], Plan]:
    def plan() -> Plan:
        answer = yield tool, arguments
        return text in answer

    return plan


def _is_faster() -> Plan:
    rows = yield from query_rows("framework_tax", build=["base"], model=["txf"])
    times = {row["backend"]: float(row["execute_ns"]) for row in rows if row["scope"] == "total"}
    return min(times, key=times.__getitem__)


_FFN = ["native_call_addmm.out", "native_call_gelu.out", "native_call_permute_copy.out"]
_GEMM = ["Fully Connected (NC, F32) GEMM #1", "Fully Connected (NC, F32) GEMM #2"]
QUESTIONS = (
    Question(
        "Which operators did f136 make slower?",
        _slower("base", "f136", "regression"),
        [*(("txf", "portable", one) for one in _FFN), *(("txf", "xnnpack", one) for one in _GEMM)],
    ),
    Question(
        "Which build made the convolutions of conv slower?",
        _says("compare", "convolution #3", base="base", head="ch26"),
        True,
    ),
    Question(
        "Which operator is new in extra?",
        _slower("base", "extra", "new_op"),
        [("conv", "portable", "native_call_sigmoid.out")],
    ),
    Question(
        "What regressed from qt-qt00 to qt-qt01?",
        _slower("qt-qt00", "qt-qt01", "regression"),
        [],
    ),
    Question("Is the newest build worse?", _says("report", "Not enough data"), True),
    Question("How often did conv run in base?", _wrong_name_first, ("base", 600)),
    Question("Which backend runs txf faster?", _is_faster, "xnnpack"),
    Question("What takes most of conv's time?", _takes_most, "native_call_convolution.out"),
    Question("How many dumps are there?", _dumps_in_all, "148"),
    Question("Was any file refused?", _refused, True),
)  # fmt: skip
