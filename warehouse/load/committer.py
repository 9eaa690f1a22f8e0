"""Commits decoded dumps in order: together, or apart if one of them makes the commit fail."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import chain
from typing import Any

import duckdb

from tracehouse.ingest.dump import Refusal
from tracehouse.ingest.errors import DumpError
from tracehouse.ingest.producers import user_rules
from tracehouse.warehouse.archive.archive import Archive
from tracehouse.warehouse.load.batches import Batch
from tracehouse.warehouse.load.content import (
    Content,
    Decoder,
    Failure,
    NewDump,
    control_dump,
    decode_content,
    describe_conflict,
    explain_refusal,
    isolate,
    isolate_each,
    stream_apart,
)
from tracehouse.warehouse.load.loader import Loader
from tracehouse.warehouse.load.summary import IngestSummary

CONFLICT = "conflict"
UNCOMMITTABLE = "uncommittable"  # decoded, but the store cannot store the dump

_COMPANIONS = {"program": "ETRecord", "debug_buffer": "debug buffer"}


class Committer:
    """Commits decoded batches, one group after the other.

    Attributes:
        loader: Writes into the store.
    """

    def __init__(
        self,
        connection: duckdb.DuckDBPyConnection,
        archive: Archive | None,
        decoder: Decoder,
        *,
        indexed: int = 0,
    ) -> None:
        """Begin; a SourceError of the settings file, whose rules all dumps need, is passed on."""
        user_rules()
        self._connection, self._decoder = connection, decoder
        self.loader = Loader(connection, archive, indexed=indexed)
        self._bad: dict[str, Refusal] = {}  # dumps refused for their content, by SHA-256

    def commit(self, batches: Sequence[Batch]) -> IngestSummary:
        """Commit decoded batches together, or the dumps of one that is not decoded one by one.

        A dump that cannot be committed is refused; all others are committed.
        """
        if batches[0].contents:
            loaded, conflicts = self._load(batches)
        else:
            loaded, conflicts = self._load_streams(batches), self._refuse_duplicates(batches)
            self.loader.record([*_refused(batches), *conflicts])
        stored = [dump for batch in batches for dump in batch.duplicates if self._agrees(dump)]
        self.loader.settle_conflicts([(dump.source, dump.sha256) for dump in stored])
        self.loader.file_stored([dump for dump in stored if dump.data is not None])
        late = self._attach(stored)
        self.loader.record(late)
        refused = [one._replace(data=None) for one in (*_refused(batches), *conflicts, *late)]
        n_files = sum(batch.file_count + batch.n_refused_companions for batch in batches)
        return loaded + IngestSummary(
            n_files,
            byte_count=sum(batch.byte_count for batch in batches),
            n_duplicates=n_files - loaded.n_dumps - len(refused),
            n_conflicts=sum(refusal.reason == CONFLICT for refusal in refused),
            refused=tuple(refused),
        )

    def _load(self, batches: Sequence[Batch]) -> tuple[IngestSummary, list[Refusal]]:
        """Commit decoded dumps and record refusals, in one transaction if possible.

        Returns:
            Counts of the committed dumps, and refusals of duplicates.
        """
        self._refuse_malformed(batches)
        conflicts = self._refuse_duplicates(batches)
        contents = [content for batch in batches for content in batch.contents]
        refusals = [*_refused(batches), *conflicts]
        loaded = isolate(lambda: self._load_contents(contents, refusals))
        if isinstance(loaded, Failure):
            loaded = self._load_apart(batches)
            conflicts = self._refuse_duplicates(batches)
            self.loader.record([*_refused(batches), *conflicts])
        return loaded, conflicts

    def _load_contents(
        self, contents: Sequence[Content], refusals: Sequence[Refusal] = ()
    ) -> IngestSummary:
        pools = self.loader.load(contents, refusals)
        n_events = sum(one.decoded.tables["events"].num_rows for one in contents)
        return IngestSummary(n_dumps=pools.total(), pools=pools, n_events=n_events)

    def _load_apart(self, batches: Sequence[Batch]) -> IngestSummary:
        """Commit the good dumps of batches that cannot be committed together."""
        loaded = IngestSummary()
        for batch in batches:
            good = [dump for dump in batch.dumps if dump.sha256 not in self._bad]
            loaded += self._load_each(good, self._decode_and_load, batch)
        return loaded

    def _decode_and_load(self, dumps: Sequence[NewDump]) -> IngestSummary:
        return self._load_contents([self._decoder.decode(dumps)])

    def _load_streams(self, batches: Sequence[Batch]) -> IngestSummary:
        """Commit dumps that are too big to be decoded with others."""
        loaded = IngestSummary()
        for batch in batches:
            for dump in batch.dumps:
                try:
                    loaded += self._load_each([dump], self._load_stream, batch)
                except DumpError as error:
                    self._refuse_bytes(dump, batch, error.reason, error.byte_offset, error.detail)
        return loaded

    def _load_stream(self, dumps: Sequence[NewDump]) -> IngestSummary:
        (dump,) = dumps
        parts = stream_apart(self._decoder.stream(dump), dump.source)
        n_events, pool = self.loader.load_stream(dump, parts), dump.manifest.device.pool
        return IngestSummary(n_dumps=1, pools=Counter([pool]), n_events=n_events)

    def _load_each(
        self,
        dumps: Sequence[NewDump],
        load: Callable[[Sequence[NewDump]], IngestSummary],
        batch: Batch,
    ) -> IngestSummary:
        """Commit dumps, if necessary without companions; refuse dumps that still fail."""

        def load_bare(dump: NewDump, failure: Failure) -> IngestSummary:
            last = failure
            for bare, left_out in _without_companions(dump):
                loaded = isolate(partial(load, [bare]))
                if not isinstance(loaded, Failure):
                    batch.n_refused_companions += len(left_out)
                    batch.refused += _refuse_companions(dump, left_out, failure)
                    return loaded
                last = loaded
            failure.blame(dump.source, self._takes_control)
            refusal = Refusal(dump.source, dump.sha256, UNCOMMITTABLE, None, last.detail)
            self._refuse(dump, batch, refusal)
            return IngestSummary()

        return sum(isolate_each(dumps, load, load_bare), IngestSummary())

    def _takes_control(self) -> bool:
        """Whether the store takes a good dump, in a transaction that is rolled back."""
        control = control_dump()
        content = decode_content([control.data])._replace(dumps=[control])
        loader = Loader(self._connection, None, _undone)
        stored = isolate(lambda: loader.load([content], ()))
        return isinstance(stored, Failure) and isinstance(stored.bug, _UndoneError)

    def _refuse_malformed(self, batches: Sequence[Batch]) -> None:
        for batch in batches:
            for content in batch.contents:
                for error in content.decoded.errors.to_pylist():
                    dump = content.dumps[error.pop("dump_index")]
                    self._refuse_bytes(dump, batch, **error)

    def _refuse_bytes(
        self, dump: NewDump, batch: Batch, reason: str, byte_offset: int | None, detail: str
    ) -> None:
        refusal = Refusal(dump.source, dump.sha256, reason, byte_offset, detail)
        self._refuse(dump, batch, explain_refusal(refusal, dump.data))

    def _refuse(self, dump: NewDump, batch: Batch, refusal: Refusal) -> None:
        self._bad[dump.sha256] = refusal
        batch.refused.append(
            refusal._replace(data=dump.data, manifest=dump.manifest.canonical_json())
        )

    def _agrees(self, dump: NewDump) -> bool:
        """Whether a duplicate is in the store under the same manifest."""
        is_same = dump.known_manifest == dump.manifest.canonical_json()
        return is_same and dump.sha256 not in self._bad

    def _refuse_duplicates(self, batches: Sequence[Batch]) -> list[Refusal]:
        """Refusals of duplicates whose bytes are malformed, or whose manifests conflict."""
        refused = []
        for dump in (dump for batch in batches for dump in batch.duplicates):
            manifest = dump.manifest.canonical_json()
            if known := self._bad.get(dump.sha256):
                refused.append(known._replace(source=dump.source, manifest=manifest))
            elif not self._agrees(dump):
                detail = describe_conflict(dump.sha256, manifest, str(dump.known_manifest))
                refused.append(
                    Refusal(dump.source, dump.sha256, CONFLICT, None, detail, manifest=manifest)
                )
        return refused

    def _attach(self, dumps: Sequence[NewDump]) -> list[Refusal]:
        """Attach new companions to stored dumps; returns refusals of unusable companions."""

        def attach(some: Sequence[NewDump]) -> list[Refusal]:
            self.loader.attach(some)
            return []

        def attach_without_companions(dump: NewDump, failure: Failure) -> list[Refusal]:
            failure.blame(dump.source, self._takes_control)
            for bare, left_out in _without_companions(dump):
                if not isinstance(isolate(partial(attach, [bare])), Failure):
                    return _refuse_companions(dump, left_out, failure)
            return []

        return list(chain.from_iterable(isolate_each(dumps, attach, attach_without_companions)))


class _UndoneError(Exception):
    """A dump was stored, and the transaction is to be rolled back."""


@contextmanager
def _undone(_: Sequence[NewDump]) -> Iterator[None]:
    yield
    raise _UndoneError


def _refused(batches: Sequence[Batch]) -> list[Refusal]:
    return [refusal for batch in batches for refusal in batch.refused]


def _without_companions(dump: NewDump) -> Iterator[tuple[NewDump, tuple[str, ...]]]:
    """The dump without each companion in turn, then without all; and the omitted companions."""
    present = tuple(dump.companions())
    for left_out in filter(None, dict.fromkeys([*zip(present, strict=True), present])):
        nothing: dict[str, Any] = dict.fromkeys(left_out)
        yield dump._replace(**nothing), left_out


def _refuse_companions(dump: NewDump, names: Sequence[str], failure: Failure) -> list[Refusal]:
    """Refusals of companions; the dump itself is stored without them."""
    refusals = []
    for name in names:
        file = dump.companions()[name]
        detail = f"the {_COMPANIONS[name]} of {dump.source} is omitted: {failure.detail}"
        refusals.append(Refusal(file.name, file.sha256, UNCOMMITTABLE, None, detail, file.data))
    return refusals
