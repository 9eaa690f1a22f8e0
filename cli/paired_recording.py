"""`tracehouse record --against`: two programs recorded in pairs, ingested and compared."""

from __future__ import annotations

from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from tracehouse.cli.errors import fail
from tracehouse.cli.options import StoreOptions
from tracehouse.cli.output.compared_builds import write_comparison
from tracehouse.cli.output.ingest_report import errors_of, write_refusals
from tracehouse.cli.output.recorded_dump import Progress, iteration_line, keep_on_failure
from tracehouse.cli.output.streams import write_note
from tracehouse.cli.stores import open_to_write

if TYPE_CHECKING:
    from tracehouse.ingest.recording.pairs import Partners
    from tracehouse.ingest.recording.session import PlannedDump
    from tracehouse.ingest.sources.places import Source


class Opponent(NamedTuple):
    """The program to record against, and how.

    Attributes:
        program: Path of the other program.
        build: Its build; None to name the build after the program's hash.
        pairs: Number of pairs of dumps.
        output: New folder for the dumps; None to keep none.
        etrecord: ETRecord of the program to judge, not of the opponent.
    """

    program: str
    build: str | None
    pairs: int
    output: str | None
    etrecord: Source | None


def record_against(
    planned: PlannedDump, opponent: Opponent, options: StoreOptions, *, is_shared: bool
) -> None:
    """Record a program and its opponent alternately, ingest the dumps and print the comparison.

    If a recording fails, the pairs before it are still ingested and compared.

    Raises:
        PairsInterruptedError: A recording failed.
    """
    from tracehouse.ingest.recording.pairs import (
        PairsInterruptedError,
        place_for_pairs,
        plan_partners,
        record_pairs,
    )
    from tracehouse.ingest.recording.session import check_manifest

    partners = plan_partners(planned.plan, planned.fields, opponent.program, opponent.build)
    for side, one in partners._asdict().items():  # check before recording for minutes
        check_manifest(Path(side).with_suffix(".etdp"), one.fields)
    if options.store.exists():
        with open_to_write(options.store, wait=options.wait):
            pass
    count, broken = 2 * opponent.pairs, None

    def watch(number: int) -> AbstractContextManager[Progress | None]:
        return iteration_line(planned.plan.iterations, f"recording {number:,} of {count:,}: ")

    with place_for_pairs(opponent.output, planned.plan.program) as place:
        try:
            record_pairs(partners, place.folder, opponent.pairs, watch)
        except PairsInterruptedError as error:
            broken = error
        with keep_on_failure(place):
            _ingest(place.folder, partners, opponent.etrecord, options, is_shared=is_shared)
    if broken is not None:
        write_note(f"note: {broken.whole:,} complete pairs were ingested into the store")
        raise broken


def _ingest(
    folder: Path,
    partners: Partners,
    etrecord: Source | None,
    options: StoreOptions,
    *,
    is_shared: bool,
) -> None:
    """Ingest the dumps of a folder, and print the comparison of the two builds."""
    with open_to_write(
        options.store, create=True, wait=options.wait, is_shared=is_shared
    ) as warehouse:
        summaries = [
            warehouse.ingest([*sorted(folder.glob(f"{side}-*.etdp"))], etrecord=record)
            for side, record in (("base", None), ("head", etrecord))
        ]
        base, head = (str(one.fields["build"]) for one in partners)
        refused = [one for summary in summaries for one in summary.refused]
        write_refusals(refused, remedy=errors_of(options.store))
        if refused:
            fail()
        table = warehouse.query("comparison", base=base, head=head)
        write_comparison(warehouse, table, options, base=base, head=head)
