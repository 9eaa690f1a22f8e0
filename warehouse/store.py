"""A store: open it, put dumps in, ask questions."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, contextmanager
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from warehouse import DEFAULT_PATH
from warehouse.catalogue.answers import answer_query
from warehouse.catalogue.queries import find_query
from warehouse.catalogue.sql_files import read_statement
from warehouse.engine.connection import reading
from warehouse.engine.deadlines import within
from warehouse.engine.statements import answer_statement
from warehouse.engine.store_connections import StoreConnections
from warehouse.engine.views import comment_views, load_views
from warehouse.engine.writer import Writer
from warehouse.errors import StatementError, StoreError
from warehouse.opening.read import OpenedStore, errors_while_open, open_to_read
from warehouse.opening.snapshots import Snapshot, publish_snapshot

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

    from ingest.dump import Dump
    from ingest.found_dumps import FoundDumps
    from ingest.sources.paths import Source
    from warehouse.lake.exporting import ExportProgress, ExportSummary
    from warehouse.load.children import DecodingChildren
    from warehouse.load.pipeline import IngestProgress, IngestSummary


class Warehouse:
    """An open store. Use as a context manager, or call `close`.

    Attributes:
        snapshot_time: When the snapshot was taken that is read; None if it is the store itself.
        damage: What is wrong with the store, and what to do; then a snapshot is read.
    """

    def __init__(self, path: Path, opened: OpenedStore, writer: Writer | None = None) -> None:
        """Wrap a locked store; see `open`."""
        self._path, self._writer = path, writer
        self._answering, self._lock, snapshot, self.damage = opened
        self.snapshot_time: datetime | None = snapshot and snapshot.taken_at
        self._children: DecodingChildren | None = None

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str] = DEFAULT_PATH,
        *,
        read_only: bool = False,
        create: bool = False,
        is_shared: bool = False,
        wait: float = 0.0,
        lake: str | os.PathLike[str] | None = None,
    ) -> Warehouse:
        """Open the store in a directory; for writing, it is brought up to date as needed.

        Args:
            path: The store's directory.
            read_only: Let other readers in, and refuse to write. While another process writes the
                store, or it is of an older tracehouse, damaged or gone, its newest snapshot is
                read.
            create: Make a store if there is none; a misspelt path must not be one.
            is_shared: Leave the permissions of a new store to the umask; else it is its owner's.
            wait: Seconds to wait for others who have it open.
            lake: Where it was exported to: to be read, raw events that were dropped from the store
                are read from there; LakeError is raised if that is no lake.

        Raises:
            StoreError: There is no store, it is not one, or it cannot be written.
            StoreLockedError: Others have it open: one writes a store, or several read it; and
                there is no snapshot to read.
            StoreVersionError: A newer tracehouse wrote it.
            OldStoreError: An older one did; to be read, it must be migrated first.
            DamagedStoreError: Its file is damaged or gone, and there is an archive.
        """
        store = Path(path)
        if read_only:
            return cls(store, _beside(store, open_to_read(store, wait=wait), lake))
        # What writes needs the archive, which a question need not wait for.
        from warehouse.opening.write import open_to_write

        opened = open_to_write(store, create=create, is_shared=is_shared, wait=wait)
        return cls(store, *opened)

    @classmethod
    def open_lake(cls, uri: str | os.PathLike[str]) -> Warehouse:
        """Open a lake to ask questions of it, as of a store; no store is needed.

        It is read as it is now, whatever is written to it meanwhile.

        Args:
            uri: A folder, or a URI such as ``s3://bucket/lake``.

        Raises:
            LakeError: It is no lake, cannot be read, or nothing is in it yet.
        """
        from warehouse.lake.connections import LakeConnections
        from warehouse.lake.place import Lake

        lake = Lake(uri)
        return cls(Path(lake.name), OpenedStore(LakeConnections(lake), None))

    def ingest(  # noqa: PLR0913 - each says something else of the dumps or of the ingest
        self,
        dumps: Iterable[str | os.PathLike[str] | Source] | FoundDumps | Sequence[Dump],
        *,
        manifest: Mapping[str, object] | None = None,
        layout: str | None = None,
        etrecord: str | os.PathLike[str] | Source | None = None,
        archive: bool = True,
        snapshot: bool = False,
        jobs: int | None = None,
        progress: Callable[[IngestProgress], None] | None = None,
    ) -> IngestSummary:
        """Ingest dumps; what the store has already changes nothing.

        Args:
            dumps: Files, folders, zip artifacts, ``ZIP!MEMBER`` and globs, or sources; or else
                dumps found before or made by `Dump.of_bytes`, for which manifest, layout and
                etrecord are not looked at: they bring their own.
            manifest: Fields that hold for all of them, e.g. ``{"device": "pixel8"}``; they
                override what is found beside the dumps.
            layout: Template of paths, e.g. ``{device}/{build}/{model}/*.etdp``.
            etrecord: ETRecord of all of them; by default what lies beside each, as
                ``NAME.etrecord`` or as the only such file of the folder.
            archive: Keep the bytes of all files in the store's archive, out of which the store can
                be made anew. Without it, keep the files yourself.
            snapshot: Publish a snapshot at the end, and now and then until then: see `snapshot`.
            jobs: Threads that read and decode; by default as many as there are cores for.
            progress: Called after each committed batch.

        Returns:
            What was done; refused files and paths are in it and in the table ingest_errors.

        Raises:
            StoreError: A batch cannot be written (earlier ones are committed), or the store was
                opened to be read or was deleted or replaced meanwhile.
        """
        # Reading dumps takes half a second of imports, which a question need not wait for.
        from ingest.found_dumps import find_dumps
        from warehouse.opening.write import ingest_found

        start = time.perf_counter()
        found = find_dumps(dumps, manifest=manifest, layout=layout, etrecord=etrecord)
        summary = ingest_found(
            self._to_write(),
            self._path,
            found,
            is_archived=archive,
            is_published=snapshot,
            jobs=jobs,
            progress=progress,
        )
        return replace(summary, seconds=time.perf_counter() - start)

    def drain(
        self,
        *,
        jobs: int | None = None,
        progress: Callable[[IngestProgress], None] | None = None,
    ) -> IngestSummary:
        """Ingest what was handed over to the store's `Inbox` so far, which is emptied by it.

        It may come from anybody, so it is decoded in another process, which is kept until the store
        is closed. What would take too much memory or time there is refused, and so is what that
        process dies of; `ingest` sets no such limit.

        Args:
            jobs: Threads that read and decode; by default as many as there are cores for.
            progress: Called after each committed batch.

        Returns:
            What was done, as by `ingest`.

        Raises:
            StoreError: A batch cannot be written; it stays in the inbox, as all after it.
        """
        from warehouse.inbox.drain import drain_inbox
        from warehouse.load.children import DecodingChildren
        from warehouse.opening.write import writing

        start = time.perf_counter()
        self._children = children = self._children or DecodingChildren()
        with writing(self._to_write(), self._path, progress) as (connection, report):
            summary = drain_inbox(connection, self._path, children, jobs=jobs, progress=report)
        return replace(summary, seconds=time.perf_counter() - start)

    def snapshot(self) -> Snapshot:
        """Publish a snapshot of the store, which others can read while this process writes.

        Returns:
            Its path, number and time. The newest few are kept, and those that somebody reads.

        Raises:
            StoreError: The disk is full, or the store was opened to be read or was deleted or
                replaced meanwhile.
        """
        return publish_snapshot(self._to_write(), self._path)

    def export_lake(
        self,
        uri: str | os.PathLike[str],
        *,
        progress: Callable[[ExportProgress], None] | None = None,
    ) -> ExportSummary:
        """Bring a lake up to date with the store, as it is now.

        Args:
            uri: A folder, or a URI such as ``s3://bucket/lake``; a lake is made there if need be.
            progress: Called after each commit.

        Returns:
            What was done; what the lake has already is not written again.

        Raises:
            LakeError: The lake cannot be read or written.
        """
        from warehouse.lake.exporting import export_store
        from warehouse.lake.place import Lake
        from warehouse.lake.store_with_lake import StoreWithLake

        lake = Lake(uri)
        lake.begin()
        writer = self._writer.connection if self._writer else None
        beside = StoreWithLake(self._path, self._answering.file, lake, writer=writer)
        with closing(beside), errors_while_open(self._path, self._answering.file):
            connection = beside.connection("trusted")
            with reading(connection):
                return export_store(connection, lake, progress=progress)

    def decide(self, group_id: str, *, state: str, reason: str) -> None:
        """Put on record what you decide about a group of alerts: a row of group_decisions.

        Args:
            group_id: The group, as reports name it.
            state: acknowledged, accepted or reopened.
            reason: Why, in words.

        Raises:
            StoreError: It cannot be written, or was opened to be read.
            QueryError: There is no such state.
        """
        from warehouse.upkeep.decide import decide_group

        decide_group(self.writing, self._path, group_id, state=state, reason=reason)

    def query(self, name: str, /, **params: object) -> pa.Table:
        """Rows of a canned query.

        Args:
            name: Name of the query.
            **params: Its parameters; texts are converted, defaults filled in. One that takes
                several values takes a text or a sequence of them, globs too.

        Returns:
            The columns of the query's header, in its order. Where it reads raw events and some
            were dropped, the table's schema says so in its metadata, as `note`.

        Raises:
            UnknownQueryError: No canned query of that name.
            ParameterError: A parameter is unknown, missing, of the wrong type or out of range, or
                names a dump, device, build, tag, ... that the store does not have.
        """
        query = find_query(name)
        connection = self._answering.for_query(query, params)
        with self._explained(), reading(connection):
            answer = answer_query(connection, query, params)
            return self._answering.with_note(answer, connection, query.sql)

    def sql(
        self,
        text: str,
        params: Mapping[str, object] | Sequence[object] | None = None,
        *,
        allow_files: bool = False,
    ) -> pa.Table:
        """Rows of an ad-hoc SELECT over the tables and views.

        Args:
            text: The statement. It is answered where it can change nothing, touch no file and
                spill none to disk.
            params: Values for its parameters: by name for ``$name``, in order for ``?``.
            allow_files: Let it read files, such as a CSV to join; the store must be opened
                read-only for that.

        Raises:
            StatementError: It is not a single SELECT (or EXPLAIN of one), or fails.
        """
        if allow_files and self._writer is not None:
            raise StatementError("files can be read only where the store is opened read-only")
        connection = self._answering.connection("with files" if allow_files else "untrusted", text)
        with self._explained():
            table = answer_statement(connection, text, params, allow_files=allow_files)
            return self._answering.with_note(table, connection, text)

    def schema(self) -> pa.Table:
        """Tables, views and columns with types and comments.

        Returns:
            table_name, column_name (null for the table or view itself), type, comment.
        """
        connection = self._answering.connection("trusted", " ".join(load_views()))
        with errors_while_open(self._path, self._answering.file):
            comment_views(connection)
            return connection.sql(read_statement("described_schema")).to_arrow_table()

    def exported_program(
        self,
        etrecord_id: int | None = None,
        *,
        dump_id: int | None = None,
        graph: str | None = None,
    ) -> Any:
        """ExecuTorch's ExportedProgram out of an ETRecord; this needs executorch.

        It is read from the archive; one that is not there, from where it was. If it is gone from
        there too, SourceError is raised; if it has changed, or executorch is missing, QueryError.

        Args:
            etrecord_id: The ETRecord.
            dump_id: Instead, a dump that was ingested with it.
            graph: Its name, as in the table graph_nodes, by default the edge dialect's program;
                with ``/METHOD`` for another method than forward.
        """
        from warehouse.opening.stored_programs import read_stored_program

        with errors_while_open(self._path, self._answering.file):
            connection = self._answering.connection("trusted")
            return read_stored_program(
                connection, self._path, etrecord_id=etrecord_id, dump_id=dump_id, graph=graph
            )

    def within(self, seconds: float) -> AbstractContextManager[None]:
        """Let what the body asks of this store be interrupted after so long.

        The body raises SlowAnswerError then. Close the store after that.
        """
        return within(seconds, self._answering.interrupt)

    def reader(self) -> Warehouse:
        """The same store for another thread to ask, as it is after the last commit.

        Close it before this one. It cannot write.

        Raises:
            StoreError: The store was opened to be read; open it once more instead.
        """
        writer = self._to_write().connection
        answering = StoreConnections(self._path, self._answering.file, writer=writer)
        return Warehouse(self._path, OpenedStore(answering, None))

    @property
    def writing(self) -> duckdb.DuckDBPyConnection:
        """The connection that writes, for upkeep of the store; see warehouse.upkeep.

        Raises:
            StoreError: The store was opened to be read.
        """
        return self._to_write().connection

    def close(self) -> None:
        """Close the store; further use fails.

        Raises:
            StoreError: What was written could not all be brought into the store's file (it is safe
                in the log beside it), or the file was deleted or replaced.
        """
        try:
            if self._writer is not None:
                self._writer.checkpoint()
        finally:
            self._let_go()

    def _let_go(self) -> None:
        if self._children is not None:
            self._children.close()
        self._answering.close()
        if self._writer is not None:
            self._writer.close()
        if self._lock is not None:
            self._lock.release()

    def __enter__(self) -> Warehouse:
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        if error is None:
            self.close()
        else:  # which tells more than what closing would add
            self._let_go()

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """Turn DuckDB's errors about what is asked into ours."""
        file = self._answering.file
        with errors_while_open(self._path, file), self._answering.explaining_errors():
            yield

    def _to_write(self) -> Writer:
        """What writes.

        Raises:
            StoreError: The store was opened to be read.
        """
        if self._writer is None:
            raise StoreError(str(self._path), "opened to be read; open it without read_only")
        return self._writer


def _beside(store: Path, opened: OpenedStore, lake: str | os.PathLike[str] | None) -> OpenedStore:
    """The same, with the raw events that a lake has, if one is named."""
    if lake is None:
        return opened
    from warehouse.lake.place import Lake
    from warehouse.lake.store_with_lake import StoreWithLake

    try:
        answering = StoreWithLake(store, opened.answering.file, Lake(lake))
    except BaseException:  # an interrupt too must not leave the store locked
        opened.release()
        raise
    opened.answering.close()
    return opened._replace(answering=answering)
