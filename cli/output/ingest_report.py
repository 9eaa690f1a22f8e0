"""The output of an ingest: a table of counts, and a line per refused file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from shlex import join, quote
from typing import TYPE_CHECKING

from tracehouse.cli.output.streams import write_note
from tracehouse.warehouse import DEFAULT_PATH

if TYPE_CHECKING:
    from tracehouse.cli.output.store_contents import Arrivals
    from tracehouse.ingest.dump import Refusal
    from tracehouse.warehouse.load.summary import IngestSummary

SHOWN = 20


def summary_row(
    summary: IngestSummary, passed_over: Mapping[str, int] | None = None
) -> dict[str, object]:
    """The counts; `files` counts dumps, duplicates, conflicts and refused files.

    `passed_over` are other files in the given places, by kind; without places there are none.
    """
    others = {} if passed_over is None else {"passed_over": sum(passed_over.values())}
    return {
        "files": summary.n_files,
        "dumps": summary.n_dumps,
        "events": summary.n_events,
        "megabytes": summary.byte_count / 1e6,
        "events_per_second": summary.n_events / summary.seconds,
        "duplicates": summary.n_duplicates,
        "conflicts": summary.n_conflicts,
        "refused": len(summary.refused) - summary.n_conflicts,
        **others,
        "seconds": summary.seconds,
    }


def errors_of(store: Path) -> str:
    """The hint how to list everything that a store refused."""
    return f"list them with: tracehouse query ingest_errors --store {quote(str(store))}"


def write_refusals(refused: Sequence[Refusal], *, remedy: str) -> None:
    """Print refusals on standard error, one line for all files with the same reason.

    After SHOWN lines, print the number of further refusals and the remedy.
    """
    alike: dict[tuple[object, ...], list[Refusal]] = {}
    for refusal in refused:
        key = refusal.reason, refusal.byte_offset, refusal.detail
        alike.setdefault(key, []).append(refusal)
    shown = list(alike.values())[:SHOWN]
    for group in shown:
        write_note(f"refused: {_sentence(group)}")
    if left := len(refused) - sum(map(len, shown)):
        write_note(f"and {left:,} more; {remedy}")


def write_passed_over(counts: Mapping[str, int]) -> None:
    """Print a note about the files that are neither dumps nor belong to dumps, if there are any."""
    from tracehouse.ingest.sources.listing import describe_passed_over

    if others := describe_passed_over(counts):
        write_note(f"note: {others}")


def write_arrivals(arrivals: Arrivals | None, options: Sequence[str]) -> None:
    """Print what was understood of files, if any, and the command to run next, with its options."""
    for line in arrival_lines(arrivals, options):
        write_note(line)


def store_options(store: Path) -> list[str]:
    """The options that name a store; none for the usual one."""
    return [] if str(store) == DEFAULT_PATH else ["--store", str(store)]


def arrival_lines(arrivals: Arrivals | None, options: Sequence[str]) -> list[str]:
    """The lines of `write_arrivals`."""
    if arrivals is None:
        return []
    command = join(("tracehouse", *arrivals.next_command, *options))
    return [f"understood: {arrivals}", f"next: {command}"]


def write_oddities(notes: Sequence[str]) -> None:
    """Print notes about manifests, at most SHOWN."""
    _write([f"note: {note}" for note in notes[:SHOWN]], len(notes), "correct the first ones")


def write_notes(summary: IngestSummary) -> None:
    """Print notes about manifests, ETRecords that do not match their dumps, and wrong clocks."""
    write_oddities(summary.notes)
    lines = [f"note: {doubt}" for doubt in summary.doubts[:SHOWN]]
    _write(lines, len(summary.doubts), "those about ETRecords are in event_origins.doubt")


def _write(lines: Sequence[str], count: int, remedy: str) -> None:
    for line in lines:
        write_note(line)
    if count > len(lines):
        write_note(f"and {count - len(lines):,} more; {remedy}")


def _sentence(alike: Sequence[Refusal]) -> str:
    first = alike[0]
    more = f" and {len(alike) - 1:,} more" if len(alike) > 1 else ""
    place = "" if first.byte_offset is None else f"offset {first.byte_offset:,}: "
    return f"{first.source}{more}: {place}{first.detail} [{first.reason}]"
