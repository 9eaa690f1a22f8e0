"""Two programs recorded in pairs, ingested, and their builds compared."""

from __future__ import annotations

from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from cli.exit_codes import fail
from cli.output.compared_builds import write_comparison
from cli.output.ingest_report import errors_of, write_refusals
from cli.output.iterations import Progress, iteration_line
from cli.output.recorded_dump import keep_on_failure
from cli.output.render import Format
from cli.output.streams import write_note
from cli.stores import open_to_write

if TYPE_CHECKING:
    from ingest.recording.manifest import PlannedDump
    from ingest.recording.pairs import Partners
    from ingest.sources.places import Source


class Opponent(NamedTuple):
    """What a program is recorded against.

    Attributes:
        program: The other program.
        build: Its build; None to call it by its content.
        pairs: Pairs of dumps.
        output: New folder for the dumps; None to keep none.
        etrecord: ETRecord of the program in question.
    """

    program: str
    build: str | None
    pairs: int
    output: str | None
    etrecord: Source | None


class Answer(NamedTuple):
    """Which store takes the dumps, and the form of what it then says."""

    store: Path
    wait: float
    is_shared: bool
    form: Format
    is_csv_safe: bool


def record_against(planned: PlannedDump, opponent: Opponent, answer: Answer) -> None:
    """Record a program and its opponent in turn, ingest the dumps and print the comparison.

    Where a recording fails, the pairs before it are ingested and compared all the same.

    Raises:
        PairsBrokenOffError: That is so.
    """
    from ingest.recording.dump_place import place_for_pairs
    from ingest.recording.manifest import check_manifest
    from ingest.recording.pairs import PairsBrokenOffError, plan_partners, record_pairs

    partners = plan_partners(planned.plan, planned.fields, opponent.program, opponent.build)
    for side, one in partners._asdict().items():  # before minutes of recording
        check_manifest(Path(side).with_suffix(".etdp"), one.fields)
    if answer.store.exists():
        with open_to_write(answer.store, wait=answer.wait):
            pass
    count, broken = 2 * opponent.pairs, None

    def watch(number: int) -> AbstractContextManager[Progress | None]:
        return iteration_line(planned.plan.iterations, f"recording {number:,} of {count:,}: ")

    with place_for_pairs(opponent.output, planned.plan.program) as place:
        try:
            record_pairs(partners, place.folder, opponent.pairs, watch)
        except PairsBrokenOffError as error:
            broken = error
        with keep_on_failure(place):
            _ingest(place.folder, partners, opponent.etrecord, answer)
    if broken is not None:
        write_note(f"note: {broken.whole:,} whole pairs were kept, in the store")
        raise broken


def _ingest(folder: Path, partners: Partners, etrecord: Source | None, answer: Answer) -> None:
    """Ingest the dumps of a folder, and print what they say of the two builds."""
    with open_to_write(
        answer.store, create=True, wait=answer.wait, is_shared=answer.is_shared
    ) as warehouse:
        summaries = [
            warehouse.ingest([*sorted(folder.glob(f"{side}-*.etdp"))], etrecord=record)
            for side, record in (("base", None), ("head", etrecord))
        ]
        base, head = (str(one.fields["build"]) for one in partners)
        table = warehouse.query("comparison", base=base, head=head)
    refused = [one for summary in summaries for one in summary.refused]
    write_refusals(refused, remedy=errors_of(answer.store))
    if refused:
        fail()
    write_comparison(table, answer.form, base=base, head=head, is_csv_safe=answer.is_csv_safe)
