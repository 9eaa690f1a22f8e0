"""Our answer to what the Inspector was asked."""

from __future__ import annotations

import io
import json
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.tools.parity.goldens import Json, Variant, parse_metadata
from tests.tools.parity.objects import object_faults
from tracehouse import Inspector
from tracehouse.ingest.sources.places import Source
from tracehouse.queries.event_blocks.build import read_event_blocks
from tracehouse.queries.event_blocks.table import event_blocks_json
from tracehouse.queries.event_blocks.time_scales import TimeScale


@dataclass(frozen=True)
class Answer:
    """What we say of a dump.

    Attributes:
        blocks: The event blocks of `tracehouse inspect --format json`.
        tsv: What `Inspector.save_data_to_tsv` writes; None if the corpus has nothing beside it.
        table: What `Inspector.print_data_tabular` prints; None likewise.
        totals: Time per module, of those that the corpus has.
        object_faults: Where the drop-in's objects do not hold the blocks.
    """

    blocks: list[Json]
    tsv: str | None
    table: str | None
    totals: Mapping[str, float]
    object_faults: tuple[str, ...] = ()


def answer(corpus: Path, dump: Path, variant: Variant) -> Answer:
    """Our answer; IngestError or QueryError if we refuse."""
    blocks = _blocks(corpus, dump, variant)
    inspector = drop_in(corpus, dump, variant)
    faults = tuple(object_faults(blocks, inspector.event_blocks))
    if not (variant.totals or variant.has_parser or "tsv" in variant.answer):
        return Answer(blocks, None, None, {}, faults)
    if variant.has_parser:
        _parse(blocks, inspector)
    tsv, table = io.StringIO(), io.StringIO()
    inspector.save_data_to_tsv(tsv, include_delegate_debug_data=variant.has_parser)
    inspector.print_data_tabular(table)
    totals = {name: inspector.find_total_for_module(name) for name in variant.totals}
    return Answer(blocks, tsv.getvalue(), table.getvalue(), totals, faults)


def _blocks(corpus: Path, dump: Path, variant: Variant) -> list[Json]:
    blocks = read_event_blocks(
        Source(str(dump)),
        etrecord=_source(corpus, variant, "etrecord"),
        debug_buffer=_source(corpus, variant, "debug_buffer_path"),
        source_time_scale=TimeScale(variant.clock.source),
        target_time_scale=TimeScale(variant.clock.target),
        delegate_times=_converter(variant) or {},
    )
    document = json.loads(json.dumps(event_blocks_json(blocks), allow_nan=False))
    found: list[Json] = document["event_blocks"]
    return found


def _parse(blocks: list[Json], inspector: Inspector) -> None:
    """Put into the JSON what the parser made of the metadata of delegated events."""
    for block, twin in zip(blocks, inspector.event_blocks, strict=True):
        for event, parsed in zip(block["events"], twin.events, strict=True):
            del event["delegate_debug_metadatas"]
            if event["is_delegated_op"]:
                event["delegate_debug_metadatas"] = parsed.delegate_debug_metadatas


def drop_in(corpus: Path, dump: Path, variant: Variant) -> Inspector:
    """The drop-in, given what the variant gave the Inspector."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of tensors outside the debug buffer, which are compared
        return Inspector(
            str(dump),
            etrecord=_path(corpus, variant, "etrecord"),
            source_time_scale=TimeScale(variant.clock.source),
            target_time_scale=TimeScale(variant.clock.target),
            debug_buffer_path=_path(corpus, variant, "debug_buffer_path"),
            delegate_metadata_parser=parse_metadata if variant.has_parser else None,
            delegate_time_scale_converter=_converter(variant),
        )


def _path(corpus: Path, variant: Variant, name: str) -> str | None:
    return str(corpus / variant.args[name]) if name in variant.args else None


def _source(corpus: Path, variant: Variant, name: str) -> Source | None:
    path = _path(corpus, variant, name)
    return Source(path) if path else None


def _converter(variant: Variant) -> Callable[[str, float], float] | None:
    divisor = variant.clock.delegate_divisor
    return None if divisor is None else lambda _, ticks: ticks / divisor
