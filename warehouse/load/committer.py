"""Decoded dumps committed in order: together, or apart where one of them is in the way."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from operator import attrgetter
from typing import Any, NamedTuple

import duckdb

from ingest.dump import Refusal
from ingest.errors import DumpError
from warehouse.archive.archive import Archive
from warehouse.load.batches import Batch, Duplicate
from warehouse.load.content import Content, split, stream_apart
from warehouse.load.decoders import Decoder
from warehouse.load.faults import DumpFault, describe_conflict, explain_fault
from warehouse.load.isolate import Failure, isolate
from warehouse.load.loader import Loader
from warehouse.load.new_dump import NewDump

CONFLICT = "conflict"
UNCOMMITTABLE = "uncommittable"  # decoded, but the store did not take it

# What may come with a dump, by its name there: what it is called; its source, SHA-256 and bytes.
_COMPANIONS: dict[str, tuple[str, Callable[[NewDump], Any]]] = {
    "program": (
        "ETRecord",
        attrgetter("program.record.source", "program.record.sha256", "program.data"),
    ),
    "debug_buffer": (
        "debug buffer",
        attrgetter("debug_buffer.name", "debug_buffer.sha256", "debug_buffer.data"),
    ),
}


class CommitResult(NamedTuple):
    """What one commit did; counts are those of `warehouse.load.pipeline.IngestSummary`."""

    n_files: int
    n_dumps: int
    n_events: int
    byte_count: int
    refused: list[Refusal]


@dataclass(frozen=True)
class _Loaded:
    """Dumps committed, and the events in them."""

    n_dumps: int = 0
    n_events: int = 0

    def __add__(self, other: _Loaded) -> _Loaded:
        return _Loaded(self.n_dumps + other.n_dumps, self.n_events + other.n_events)


class Committer:
    """Commits decoded batches, one group after the other.

    Attributes:
        loader: Writes them into the store.
    """

    def __init__(
        self, connection: duckdb.DuckDBPyConnection, archive: Archive | None, decoder: Decoder
    ) -> None:
        """Take the connection that writes, where what it writes is kept, and what decodes."""
        self._decoder = decoder
        self.loader = Loader(connection, archive)
        self._bad: dict[str, Refusal] = {}  # dumps refused for their content, by SHA-256

    def commit(self, batches: Sequence[Batch], content: Content | None) -> CommitResult:
        """Commit batches together; without their content their dumps are streamed, each alone.

        A dump that the store does not take is refused, and all others are committed.
        """
        if content is None:
            loaded, judged = self._load_streams(batches), self._refuse_duplicates(batches)
            self.loader.record([*_refused(batches), *judged])
        else:
            loaded, judged = self._load(batches, content)
        stored = [one.dump for batch in batches for one in batch.duplicates if self._agrees(one)]
        self.loader.settle_conflicts(stored)
        self.loader.file_stored([dump for dump in stored if dump.data is not None])
        late = self._attach(stored)
        self.loader.record(late)
        return CommitResult(
            sum(batch.file_count + batch.n_refused_companions for batch in batches),
            loaded.n_dumps,
            loaded.n_events,
            sum(batch.byte_count for batch in batches),
            [one._replace(data=None) for one in (*_refused(batches), *judged, *late)],
        )

    def _load(self, batches: Sequence[Batch], content: Content) -> tuple[_Loaded, list[Refusal]]:
        """Commit what was decoded, and put refusals on record, in one transaction if that can be.

        Returns:
            What was committed, and refusals of duplicates.
        """
        self._refuse_malformed(batches, content)
        judged = self._refuse_duplicates(batches)
        dumps = [dump for batch in batches for dump in batch.dumps]
        refusals = [*_refused(batches), *judged]
        loaded = isolate(lambda: self._load_content(dumps, content, refusals))
        if isinstance(loaded, Failure):
            loaded = self._load_apart(batches)
            judged = self._refuse_duplicates(batches)
            self.loader.record([*_refused(batches), *judged])
        return loaded, judged

    def _load_content(
        self, dumps: Sequence[NewDump], content: Content, refusals: Sequence[Refusal] = ()
    ) -> _Loaded:
        n_dumps = self.loader.load(dumps, *content, refusals)
        return _Loaded(n_dumps, content.decoded.tables["events"].num_rows)

    def _load_apart(self, batches: Sequence[Batch]) -> _Loaded:
        """Commit the good dumps of batches that cannot be committed together."""
        loaded = _Loaded()
        for batch in batches:
            good = [dump for dump in batch.dumps if self._is_good(dump)]
            loaded += self._load_some(good, batch)
        return loaded

    def _load_some(self, dumps: Sequence[NewDump], batch: Batch) -> _Loaded:
        """Commit dumps together; where that fails, in parts, down to single ones."""
        if len(dumps) == 1:
            return self._load_alone(dumps[0], lambda dump: self._decode_and_load([dump]), batch)
        loaded = isolate(lambda: self._decode_and_load(dumps))
        if isinstance(loaded, Failure):
            return sum((self._load_some(some, batch) for some in split(dumps)), _Loaded())
        return loaded

    def _decode_and_load(self, dumps: Sequence[NewDump]) -> _Loaded:
        return self._load_content(dumps, self._decoder.decode(dumps))

    def _load_streams(self, batches: Sequence[Batch]) -> _Loaded:
        """Commit dumps that were too big to be decoded with the others."""
        loaded = _Loaded()
        for batch, dump in _dumps(batches):
            try:
                loaded += self._load_alone(dump, self._load_stream, batch)
            except DumpError as error:
                fault = DumpFault(error.reason, error.byte_offset, error.detail)
                self._refuse_bytes(dump, batch, fault)
        return loaded

    def _load_stream(self, dump: NewDump) -> _Loaded:
        parts = stream_apart(self._decoder.stream(dump), dump.source)
        return _Loaded(1, self.loader.load_stream(dump, parts))

    def _load_alone(
        self, dump: NewDump, load: Callable[[NewDump], _Loaded], batch: Batch
    ) -> _Loaded:
        """Commit a dump, if need be without the files that came with it; or else refuse it."""
        loaded = isolate(partial(load, dump))
        if not isinstance(loaded, Failure):
            return loaded
        last = loaded
        for bare, left_out in _with_less(dump):
            again = isolate(partial(load, bare))
            if not isinstance(again, Failure):
                batch.n_refused_companions += len(left_out)
                batch.refused += _refuse_companions(dump, left_out, loaded)
                return again
            last = again
        self._refuse(dump, batch, DumpFault(UNCOMMITTABLE, None, last.detail))
        return _Loaded()

    def _refuse_malformed(self, batches: Sequence[Batch], content: Content) -> None:
        dumps = list(_dumps(batches))
        for error in content.decoded.errors.to_pylist():
            batch, dump = dumps[error.pop("dump_index")]
            self._refuse_bytes(dump, batch, DumpFault(**error))

    def _refuse_bytes(self, dump: NewDump, batch: Batch, fault: DumpFault) -> None:
        """Refuse a dump for what its bytes are."""
        self._refuse(dump, batch, explain_fault(fault, dump.source, dump.data))

    def _refuse(self, dump: NewDump, batch: Batch, fault: DumpFault) -> None:
        refusal = Refusal(dump.source, dump.sha256, *fault)
        self._bad[dump.sha256] = refusal
        batch.refused.append(refusal._replace(data=dump.data))

    def _is_good(self, dump: NewDump) -> bool:
        """Whether the content of a dump has not been refused yet."""
        return dump.sha256 not in self._bad

    def _agrees(self, duplicate: Duplicate) -> bool:
        """Whether a duplicate is in the store under the same manifest."""
        is_same = duplicate.known_manifest == duplicate.dump.manifest.canonical_json()
        return is_same and self._is_good(duplicate.dump)

    def _refuse_duplicates(self, batches: Sequence[Batch]) -> list[Refusal]:
        """Refusals of duplicates whose bytes are malformed, or whose manifests conflict."""
        refused = []
        for duplicate in (one for batch in batches for one in batch.duplicates):
            if not self._is_good(duplicate.dump):
                known = self._bad[duplicate.dump.sha256]
                refused.append(known._replace(source=duplicate.dump.source))
            elif not self._agrees(duplicate):
                refused.append(_conflict(duplicate))
        return refused

    def _attach(self, dumps: Sequence[NewDump]) -> list[Refusal]:
        """Attach new companions to dumps in the store; returns refusals of unusable ones."""
        if not dumps:
            return []
        attached = isolate(lambda: self.loader.attach(dumps))
        if not isinstance(attached, Failure):
            return []
        if len(dumps) == 1:
            for bare, left_out in _with_less(dumps[0]):
                if not isinstance(isolate(partial(self.loader.attach, [bare])), Failure):
                    return _refuse_companions(dumps[0], left_out, attached)
        middle = len(dumps) // 2
        return self._attach(dumps[:middle]) + self._attach(dumps[middle:])


def _conflict(duplicate: Duplicate) -> Refusal:
    dump, known_manifest = duplicate
    detail = describe_conflict(dump.sha256, dump.manifest.canonical_json(), known_manifest)
    return Refusal(dump.source, dump.sha256, CONFLICT, None, detail)


def _dumps(batches: Sequence[Batch]) -> Iterator[tuple[Batch, NewDump]]:
    """Dumps in order, each with its batch."""
    return ((batch, dump) for batch in batches for dump in batch.dumps)


def _refused(batches: Sequence[Batch]) -> list[Refusal]:
    return [refusal for batch in batches for refusal in batch.refused]


def _with_less(dump: NewDump) -> Iterator[tuple[NewDump, tuple[str, ...]]]:
    """The dump without each file that came with it, then without any; and what is left out."""
    present = tuple(name for name in _COMPANIONS if getattr(dump, name) is not None)
    for left_out in filter(None, dict.fromkeys([*zip(present, strict=True), present])):
        nothing: dict[str, Any] = dict.fromkeys(left_out)
        yield dump._replace(**nothing), left_out


def _refuse_companions(dump: NewDump, names: Sequence[str], trouble: Failure) -> list[Refusal]:
    """Refusals of files that came with a dump; the dump itself is stored without them."""
    refusals = []
    for name in names:
        what, find = _COMPANIONS[name]
        source, sha256, data = find(dump)
        detail = f"the {what} of {dump.source} is left out: {trouble.detail}"
        refusals.append(Refusal(source, sha256, UNCOMMITTABLE, None, detail, data))
    return refusals
