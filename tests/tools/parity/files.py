"""The dumps of a corpus folder, each judged in all its variants."""

from __future__ import annotations

import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from tests.support.reference_reader import DumpFault
from tests.tools.parity.evidence import Dump
from tests.tools.parity.goldens import Variant, read_variants
from tests.tools.parity.verdicts import Outcome, Verdict, judge, judge_malformed

SUFFIX = ".golden.json"


class Finding(NamedTuple):
    """The verdict on one dump in one variant."""

    dump: str
    variant: str
    verdict: Verdict


def find_goldens(corpus: Path) -> list[Path]:
    """The golden files below a folder that stand beside their dumps."""
    return [path for path in sorted(corpus.rglob(f"*{SUFFIX}")) if _dump_path(path).exists()]


def judge_file(corpus: Path, golden: Path) -> list[Finding]:
    """The verdicts on one dump."""
    path = _dump_path(golden)
    name = path.relative_to(corpus).as_posix().removesuffix(".etdp")
    try:
        dump = Dump(path)
    except DumpFault:
        dump = None
    return [
        Finding(name, variant.name, _judge(corpus, path, dump, variant))
        for variant in read_variants(golden)
    ]


def _dump_path(golden: Path) -> Path:
    return golden.with_name(golden.name.removesuffix(SUFFIX) + ".etdp")


def _judge(corpus: Path, path: Path, dump: Dump | None, variant: Variant) -> Verdict:
    for reason in _obstacles(corpus, variant):
        return Verdict(Outcome.SKIPPED, reason=reason)
    try:
        if dump is None:
            return judge_malformed(corpus, path, variant)
        return judge(corpus, path, dump, variant)
    except Exception:  # a fault in one file must not hide the others
        lines = traceback.format_exc(limit=-1).splitlines()
        return Verdict(Outcome.UNEXPLAINED, unexplained=(f"crash: {' '.join(lines[1:])}",))


def _obstacles(corpus: Path, variant: Variant) -> Iterator[str]:
    if "reference_graph_name" in variant.args:
        yield "shown with a graph of choice: what is right is worked out for the edge dialect's"
    for name in ("etrecord", "debug_buffer_path"):
        file = variant.args.get(name)
        if file and not (corpus / file).exists():
            yield f"its {name} is not in this folder"
