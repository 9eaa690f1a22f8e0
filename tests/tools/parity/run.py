"""Compares our answers with the ExecuTorch Inspector's, which a corpus folder holds: `make parity`.

Each difference must be one that the Inspector's known bugs make, exactly; anything else makes the
exit status 1. docs/inspector-differences.md tells the bugs by their numbers. A folder of pairs for
numeric gaps is judged by itself (`gaps`).
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path

from rich.console import Console
from rich.table import Table

from tests.support.corpus import CORPUS
from tests.tools.parity.bugs import Bug
from tests.tools.parity.files import Finding, find_goldens, judge_file
from tests.tools.parity.gaps import GAPS, find_pairs, gap_table, judge_pair
from tests.tools.parity.verdicts import Outcome

_MOST_TOLD = 5  # sentences per dump and variant


def main() -> int:
    """Run as the arguments say, and print a summary."""
    parser = argparse.ArgumentParser(prog="parity", description=__doc__.split("\n")[0])
    parser.add_argument("corpus", type=Path, nargs="?", help="folder of dumps or of pairs")
    parser.add_argument("--processes", type=int, default=os.cpu_count())
    options = parser.parse_args()
    start = time.monotonic()
    corpus = options.corpus or CORPUS
    pairs = options.corpus or GAPS
    goldens, models = find_goldens(corpus), find_pairs(pairs)
    if not goldens and not models:
        parser.error(f"{corpus}: holds no dump with a golden file beside it, and no pairs")
    findings = list(judge_files(corpus, goldens, options.processes))
    gaps = [judge_pair(pairs, model) for model in models]
    console = Console(width=None if sys.stdout.isatty() else 130)
    tables = (_outcomes(findings), _bugs(findings), _reasons(findings)) if goldens else ()
    for table in (*tables, *([gap_table(gaps)] if models else ())):
        console.print(table)
    faults = [*_unexplained(findings), *(fault for found in gaps for fault in found.faults)]
    for sentence in faults:
        console.print(sentence, markup=False, highlight=False, soft_wrap=True)
    seconds = time.monotonic() - start
    console.print(f"{len(goldens)} dumps and {len(models)} pairs in {seconds:.0f} s")
    is_unexplained = any(f.verdict.outcome is Outcome.UNEXPLAINED for f in findings)
    return 1 if faults or is_unexplained else 0


def judge_files(corpus: Path, goldens: Sequence[Path], processes: int) -> Iterator[Finding]:
    """The verdicts on these dumps, in order."""
    with ProcessPoolExecutor(processes, get_context("spawn")) as pool:
        for findings in pool.map(partial(judge_file, corpus), goldens, chunksize=4):
            yield from findings


def _outcomes(findings: Sequence[Finding]) -> Table:
    counts = Counter((finding.variant, finding.verdict.outcome) for finding in findings)
    table = Table("variant", *Outcome, title="dumps by variant and outcome")
    for column in table.columns[1:]:
        column.justify = "right"
    for variant in dict.fromkeys(finding.variant for finding in findings):
        table.add_row(variant, *(str(counts[variant, outcome] or "") for outcome in Outcome))
    return table


def _bugs(findings: Sequence[Finding]) -> Table:
    dumps: dict[Bug, set[str]] = defaultdict(set)
    counts: Counter[Bug] = Counter()
    for finding in findings:
        counts.update(finding.verdict.bugs)
        for bug in finding.verdict.bugs:
            dumps[bug].add(finding.dump)
    table = Table("number", "the Inspector's bug", "dumps", "dump and variant", "for instance")
    for bug in Bug:
        first = min(dumps[bug], default="")
        table.add_row(bug.name, bug.value, str(len(dumps[bug])), str(counts[bug]), first)
    return table


def _reasons(findings: Sequence[Finding]) -> Table:
    counts = Counter((f.verdict.outcome, f.verdict.reason) for f in findings if f.verdict.reason)
    table = Table("outcome", "reason", "dump and variant")
    for (outcome, reason), count in sorted(counts.items()):
        table.add_row(outcome, reason, str(count))
    return table


def _unexplained(findings: Sequence[Finding]) -> Iterator[str]:
    for dump, variant, verdict in findings:
        for sentence in verdict.unexplained[:_MOST_TOLD]:
            yield f"UNEXPLAINED {dump} {variant}: {sentence}"
        more = len(verdict.unexplained) - _MOST_TOLD
        if more > 0:
            yield f"UNEXPLAINED {dump} {variant}: and {more:,} more"


if __name__ == "__main__":
    sys.exit(main())
