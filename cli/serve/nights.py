"""Nights judged by a service: each once, in a process of its own, when its data have settled."""

from __future__ import annotations

import base64
import os
import threading
import time
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from pathlib import Path

from cli.output.streams import write_note
from cli.serve.http.problems import Problem
from cli.serve.pushes import Pushes
from cli.serve.settings import ServiceSettings
from queries.report.content import Report
from queries.report.nightly import nightly_report
from queries.report.settings import Settings, read_settings
from queries.report.stored_nights import (
    NightKey,
    find_report,
    last_night,
    pack_night,
    unpack_report,
)
from warehouse.children.messages import GONE, receive
from warehouse.children.process import ChildProcess
from warehouse.consumer import Consumer
from warehouse.engine.memory_limit import VARIABLE
from warehouse.errors import QueryError, StoreError, WarehouseError
from warehouse.store import Warehouse
from warehouse.upkeep.nights import JudgedNight

_FEW_DUMPS = 10_000  # in a store, whose nights are judged immediately, in a few seconds
_LOOK_SECONDS = 1.0
_MEMORY = "512MB"  # for DuckDB in the process that judges, unless the environment says otherwise
_COUNT = "SELECT count(*) AS n FROM dumps"


class Nights:
    """The reports of a service's store.

    A night is judged in a child process, which reads a snapshot, and the result is stored.

    Attributes:
        judged_count: Nights judged since the start.
    """

    def __init__(
        self,
        warehouse: Warehouse,
        store: Path,
        consumer: Consumer,
        *,
        settings: ServiceSettings,
        config: Path | None,
    ) -> None:
        """Use a store that only functions of `Consumer.perform` may write."""
        self._warehouse, self._store, self._consumer = warehouse, store, consumer
        self._settle_seconds, self._config = settings.settle_seconds, config
        self._pushes = Pushes(slack_url=settings.slack_url, webhook_url=settings.webhook_url)
        self._wanted: dict[NightKey, Future[JudgedNight]] = {}
        self._changed, self._is_ending = threading.Condition(), False
        self._child: ChildProcess | None = None
        self.judged_count = 0

    @property
    def settings(self) -> Settings:
        """The team's settings, as their file is now."""
        return read_settings(self._config)

    @contextmanager
    def judging(self) -> Iterator[None]:
        """Judge nights in a thread while the body runs."""
        thread = threading.Thread(target=self._run, name="nights")
        thread.start()
        try:
            yield
        finally:
            with self._changed:
                self._is_ending = True
                self._changed.notify()
                if self._child:
                    self._child.process.kill()
            thread.join()
            for future in self._wanted.values():
                future.set_exception(StoreError(str(self._store), "the service ends"))

    def report(self, reader: Warehouse, key: NightKey, *, seconds: float) -> Report:
        """The report of a night.

        Raises:
            Problem: 503 if that takes longer.
            QueryError: The night cannot be judged.
        """
        if found := find_report(reader, key):
            return found
        ((count,),) = reader.sql(_COUNT).to_pydict().values()
        if count <= _FEW_DUMPS:
            made = nightly_report(reader, self.settings, head=key.build)
            self._keep(pack_night(key, made))
            return made
        try:
            return unpack_report(self._want(key).result(seconds).report)
        except TimeoutError as error:
            detail = f"the night of {key.build} is being judged: ask again in a minute"
            raise Problem(503, "judging", detail, retry_after=15) from error

    def _want(self, key: NightKey) -> Future[JudgedNight]:
        with self._changed:
            self._changed.notify()
            return self._wanted.setdefault(key, Future())

    def _run(self) -> None:
        accepted, since, is_judged = self._consumer.accepted, time.monotonic(), False
        with self._noted("the last night cannot be read"), self._consumer.readers.lend() as reader:
            if before := last_night(reader, self.settings):
                self._pushes.remember(before.report)
        while not self._is_ending:
            if accepted != self._consumer.accepted:
                accepted, since, is_judged = self._consumer.accepted, time.monotonic(), False
            with self._noted("the night cannot be judged"):
                has_settled = time.monotonic() - since >= self._settle_seconds
                if has_settled and not is_judged and self._consumer.is_idle:
                    is_judged = True
                    self._judge_last()
                self._judge_wanted()

    @contextmanager
    def _noted(self, problem: str) -> Iterator[None]:
        """Turn an error of the body into a note; the thread goes on."""
        try:
            yield
        except (QueryError, WarehouseError, OSError) as error:
            if not self._is_ending:
                write_note(f"{self._store}: {problem}: {error}")

    def _judge_wanted(self) -> None:
        with self._changed:
            self._changed.wait_for(lambda: self._wanted or self._is_ending, _LOOK_SECONDS)
            key = next(iter(self._wanted), None)
        if key and not self._is_ending:
            self._settle(key)

    def _judge_last(self) -> None:
        with self._consumer.readers.lend() as reader:
            ((count,),) = reader.sql(_COUNT).to_pydict().values()
            if not count:
                return
            key = NightKey.of(reader, self.settings, None)
            report = find_report(reader, key)
        if report is None:
            self._want(key)
            report = unpack_report(self._settle(key).report)
        try:
            self._pushes.push(report)
        except QueryError as error:
            write_note(f"{self._store}: {error}")

    def _settle(self, key: NightKey) -> JudgedNight:
        future = self._wanted[key]
        try:
            night = self._judge(key)
            self._keep(night)
            future.set_result(night)
            return night
        except (QueryError, WarehouseError, OSError) as error:
            future.set_exception(error)
            raise
        finally:
            with self._changed:
                del self._wanted[key]

    def _keep(self, night: JudgedNight) -> None:
        kept = self._consumer.perform(lambda: self._warehouse.keep_night(night))
        kept.add_done_callback(self._note_end)

    def _note_end(self, kept: Future[None]) -> None:
        with self._noted("a report cannot be stored"):
            kept.result()
            self.judged_count += 1

    def _judge(self, key: NightKey) -> JudgedNight:
        night = self._in_child(key)
        if night is None:
            self._consumer.perform(self._warehouse.snapshot).result()
            night = self._in_child(key)
        if night is None:
            raise QueryError("its data changed meanwhile: ask again")
        return night

    def _in_child(self, key: NightKey) -> JudgedNight | None:
        """The night by a child process; None if the newest snapshot has other data.

        Raises:
            QueryError: The night cannot be judged.
            StoreError: The process died.
        """
        arguments = str(self._store), str(self._config or ""), key.build, key.inputs
        module = "queries.report.judging_child"
        environment = {VARIABLE: _MEMORY} | os.environ
        child = ChildProcess(module, *arguments, environment=environment, stderr=None)
        with self._changed:
            self._child = child
            if self._is_ending:
                child.process.kill()
        try:
            message = receive(child.channel).message
        except GONE as error:
            how = child.end()
            raise StoreError(str(self._store), f"the process that judges it {how}") from error
        finally:
            with self._changed:
                self._child = None
            child.end()
        if problem := message.get("problem"):
            raise QueryError(problem)
        if "report" not in message:
            return None
        facts = {name: message[name] for name in JudgedNight._fields if name != "report"}
        return JudgedNight(**facts, report=base64.b64decode(message["report"]))
