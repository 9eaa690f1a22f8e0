"""Audit every canned query: against an independent computation, and over every surface.

    python -m tests.tools.audit.run [--farm NAME] [--query NAME] [--surface NAME] [--all]

The exit status is 1 if an answer differs and no list explains it, or if a list does in vain.
"""

from __future__ import annotations

import argparse
import sys
import time

from rich.console import Console

from tests.tools.audit import made_farms, shipped_farms  # noqa: F401 - they fill the list of farms
from tests.tools.audit.audit import Tally, audit_farm
from tests.tools.audit.differences import ORACLE
from tests.tools.audit.farms import MAKERS
from tests.tools.audit.questions import QUESTIONS
from tests.tools.audit.surfaces import SURFACES


def main() -> int:
    """Audit the farms, and print what differs."""
    options = _parse_arguments()
    console, whole = Console(), Tally()
    surfaces = [one for one in SURFACES if options.surface in (None, one.name)]
    for lack in [f"{one.name} is left out: {one.needs()}" for one in surfaces if one.needs()]:
        console.print(lack, markup=False, highlight=False)
    surfaces = [one for one in surfaces if not one.needs()]
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
    faults = whole.faults
    if not (options.farm or options.query or options.surface):
        faults += whole.uncomputed
        for fault in whole.uncomputed:
            console.print(fault, markup=False, highlight=False, soft_wrap=True)
    listed = len(whole.findings) - len(whole.faults)
    console.print(
        f"{whole.answers:,} answers, {whole.values:,} values: {len(faults):,} faults, "
        f"{listed:,} differences that are explained",
        highlight=False,
    )
    return int(bool(faults))


def _parse_arguments() -> argparse.Namespace:
    names = [one.name for one in SURFACES]
    parser = argparse.ArgumentParser(prog="audit", description=__doc__.split("\n")[0])
    parser.add_argument("--farm", choices=[*MAKERS], help="only this farm")
    parser.add_argument("--query", help="only this canned query")
    parser.add_argument("--surface", choices=[ORACLE, *names], help="only it")
    parser.add_argument("--all", action="store_true", help="print explained differences, too")
    return parser.parse_args()


def _show(console: Console, name: str, tally: Tally, seconds: float, *, is_whole: bool) -> None:
    console.print(
        f"{name}: {tally.answers:,} answers, {len(tally.faults)} faults, {seconds:.0f} s",
        highlight=False,
    )
    for finding in tally.findings:
        if is_whole or finding.is_fault:
            console.print(f"  {finding}", markup=False, highlight=False, soft_wrap=True)


if __name__ == "__main__":
    sys.exit(main())
