"""Audit every canned query: against an independent computation, and over every surface.

    python -m tests.tools.audit.run [--farm NAME] [--query NAME] [--surface NAME] [--all]
        [--draws COUNT] [--seed NUMBER]

The exit status is 1 if an answer differs and no list explains it, or if a list does in vain.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence

from rich.console import Console

from tests.tools.audit import made_farms, shipped_farms  # noqa: F401 - they fill the list of farms
from tests.tools.audit.audit import Tally, audit_farm
from tests.tools.audit.crossed_farms import CROSSED
from tests.tools.audit.differences import ORACLE
from tests.tools.audit.farms import MAKERS
from tests.tools.audit.filtered import QUERIES, FilterTally, audit_filters
from tests.tools.audit.questions import QUESTIONS
from tests.tools.audit.surfaces import REFERENCE, SURFACES, Surface, stored


def main() -> int:
    """Audit the farms, and print what differs."""
    options = _parse_arguments()
    console = Console(soft_wrap=True, markup=False, highlight=False)
    surfaces = [one for one in SURFACES if options.surface in (None, one.name)]
    for surface in surfaces:
        if surface.needs():
            console.print(f"{surface.name} is left out: {surface.needs()}")
    surfaces = [one for one in surfaces if not one.needs()]
    whole = _audit_farms(console, options, surfaces)
    filtered = _audit_filters(console, options, surfaces)
    faults = whole.faults + filtered.faults
    if not (options.farm or options.query or options.surface):
        faults += whole.uncomputed
        for fault in whole.uncomputed:
            console.print(fault)
    listed = len(whole.findings) - len(whole.faults)
    console.print(
        f"{whole.answers:,} answers, {whole.values:,} values: {len(faults):,} faults, "
        f"{listed:,} differences that are explained"
    )
    console.print(f"seed {options.seed}: {filtered.describe()}")
    return int(bool(faults))


def _audit_farms(
    console: Console, options: argparse.Namespace, surfaces: Sequence[Surface]
) -> Tally:
    """The questions of the list, of each farm."""
    whole = Tally()
    for name, make in MAKERS.items():
        if options.farm not in (None, name):
            continue
        questions = [
            question
            for question in QUESTIONS
            if question.farm == name and options.query in (None, question.query)
        ]
        start = time.monotonic()
        tally = audit_farm(
            make(), questions, surfaces, by_oracles=options.surface in (None, ORACLE)
        )
        _show(console, name, tally, time.monotonic() - start, is_whole=options.all)
        whole.add(tally)
    return whole


def _audit_filters(
    console: Console, options: argparse.Namespace, surfaces: Sequence[Surface]
) -> FilterTally:
    """Questions with random filters."""
    whole = FilterTally()
    for name, make in CROSSED.items():
        queries = [one for one in QUERIES[name] if options.query in (None, one)]
        if options.farm not in (None, name) or not queries:
            continue
        start = time.monotonic()
        farm = make()
        with stored(farm) as store:
            tally = audit_filters(
                farm,
                store,
                queries,
                options.draws,
                seed=options.seed,
                surfaces=(REFERENCE, *surfaces),
            )
        console.print(f"{name}: {tally.describe()}, {time.monotonic() - start:.0f} s")
        for fault in tally.faults:
            console.print(f"  {fault}")
        whole.add(tally)
    return whole


def _parse_arguments() -> argparse.Namespace:
    names = [one.name for one in SURFACES]
    parser = argparse.ArgumentParser(prog="audit", description=__doc__.split("\n")[0])
    parser.add_argument("--farm", choices=[*MAKERS, *CROSSED], help="only this farm")
    parser.add_argument("--query", help="only this canned query")
    parser.add_argument("--surface", choices=[ORACLE, *names], help="only it")
    parser.add_argument("--all", action="store_true", help="print explained differences, too")
    parser.add_argument("--draws", type=int, default=16, help="random filters for each query")
    parser.add_argument("--seed", type=int, default=0, help="what they are drawn by")
    return parser.parse_args()


def _show(console: Console, name: str, tally: Tally, seconds: float, *, is_whole: bool) -> None:
    console.print(
        f"{name}: {tally.answers:,} answers, {len(tally.faults)} faults, {seconds:.0f} s",
    )
    for finding in tally.findings:
        if is_whole or finding.is_fault:
            console.print(f"  {finding}")


if __name__ == "__main__":
    sys.exit(main())
