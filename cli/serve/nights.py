"""Nights judged by a service: one at a time, in a process of its own, at low priority."""

from __future__ import annotations

import base64
import os
import threading
import time
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from tracehouse.cli.output.streams import write_note
from tracehouse.cli.serve.http.problems import Problem
from tracehouse.cli.serve.settings import ServiceSettings
from tracehouse.queries.report.content import Report
from tracehouse.queries.report.forms import Form, render
from tracehouse.queries.report.nightly import (
    LastNight,
    NightKey,
    find_report,
    key_of,
    last_night,
    unpack_report,
    with_notes,
)
from tracehouse.queries.report.settings import Settings, read_settings
from tracehouse.queries.report.slack import PostError, post_payload
from tracehouse.warehouse.children.messages import GONE, receive
from tracehouse.warehouse.children.process import ChildProcess
from tracehouse.warehouse.consumer import Consumer
from tracehouse.warehouse.engine.memory_limit import VARIABLE
from tracehouse.warehouse.errors import QueryError, StoreError, WarehouseError
from tracehouse.warehouse.store import Store
from tracehouse.warehouse.upkeep.nights import JudgedNight

_SECONDS = 10.0  # to wait for a server, which delays the end of the service

_LOOK_SECONDS = 1.0
# A night that pages want is not judged again before this, or this multiple of the time it took.
_PAUSE_SECONDS, _PAUSE_SHARE = 60.0, 20
_FAILED_SECONDS = 20.0  # to tell those who ask again that a night has failed
_MEMORY = "512MB"  # for DuckDB in the process that judges, unless the environment says otherwise
_COUNT = "SELECT count(*) AS n FROM dumps"
_ENDS = "no night is judged any more: the service ends, or must be restarted"


class Pushes:
    """Pushes the report of the last night when it differs from the last one pushed."""

    def __init__(self, *, slack_url: str | None, webhook_url: str | None) -> None:
        targets: dict[Form, str | None] = {"slack": slack_url, "json": webhook_url}
        self._targets = [(form, url) for form, url in targets.items() if url]
        self._last: object = None

    def remember(self, report: Report) -> None:
        """Treat a report as pushed, such as that of a night judged before the service began."""
        self._last = _news(report)

    def push(self, report: Report) -> None:
        """Push a report if its build, its verdict, or an alert or its state is new.

        Raises:
            QueryError: A server refuses the report or cannot be reached; the others have it.
        """
        if _news(report) == self._last:
            return
        self._last = _news(report)
        problems = []
        for form, url in self._targets:
            try:
                post_payload(render(report, form), url, timeout_seconds=_SECONDS)
            except PostError as error:
                problems.append(f"{form}: {error}")
        if problems:
            raise QueryError(f"the report was not pushed to {', '.join(problems)}")


def _news(report: Report) -> object:
    return report.head, report.verdict, [(group.id, group.state) for group in report.groups]


class Judging(Problem):
    """A night that is needed and not judged yet.

    Attributes:
        build: The build.
        night: The night, with at least the data of the request, once it is judged.
    """

    def __init__(self, build: str, night: Future[JudgedNight]) -> None:
        detail = f"the night of {build} is being judged: ask again in a minute"
        super().__init__(503, "judging", detail, retry_after=15)
        self.build, self.night = build, night


@dataclass
class _Wanted:
    """A night that is to be judged, is being judged, or is not stored yet.

    Attributes:
        key: The newest data that somebody wants judged, then those that were.
        is_urgent: Whether somebody waits for it.
        asked: When somebody asked for it last, on the monotonic clock.
        night: The result.
        judged_at: When it was judged.
        failed: When it failed, on the monotonic clock.
    """

    key: NightKey
    is_urgent: bool = False
    asked: float = 0.0
    night: Future[JudgedNight] = field(default_factory=Future)
    judged_at: datetime | None = None
    failed: float | None = None

    def answers(self, key: NightKey) -> bool:
        """Whether its result is one for a key, or the error of a moment ago."""
        if self.failed is None:
            return self.key == key
        return time.monotonic() < self.failed + _FAILED_SECONDS


class Nights:
    """The reports of a service's store.

    A night is judged in a child process, which reads a snapshot, and the result is stored. All
    requests for a build that come before its judgement begins get the same one.

    Attributes:
        judged_count: Nights judged since the start.
    """

    def __init__(
        self,
        warehouse: Store,
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
        # By build and settings: nights that wait; those that were begun and are not stored; and
        # when a night may be judged again for which nobody waits.
        self._wanted: dict[tuple[str, str], _Wanted] = {}
        self._begun: dict[tuple[str, str], _Wanted] = {}
        self._due: dict[tuple[str, str], float] = {}
        self._changed, self._is_ending = threading.Condition(), False
        self._child: ChildProcess | None = None
        self.judged_count = 0

    @property
    def settings(self) -> Settings:
        """The team's settings, as their file is now."""
        return read_settings(self._config)

    @contextmanager
    def judge_in_thread(self) -> Iterator[None]:
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

    def report(self, reader: Store, key: NightKey, judged: JudgedNight | None) -> Report:
        """The report of a night with the data of its key, or with newer ones.

        Args:
            reader: The store.
            key: The night.
            judged: The result that an earlier call of the same request has waited for.

        Raises:
            Judging: The night is not judged yet.
            StoreError: The night could not be judged a moment ago, or none is any more.
            QueryError: The same.
        """
        if judged and key_of(judged)[:2] == key[:2]:
            return with_notes(unpack_report(judged.report), reader)
        wanted = self._find(key)
        if wanted is None:
            if found := find_report(reader, key):
                return found
            wanted = self._want(key, is_urgent=True)
        if wanted.night.done():
            return with_notes(unpack_report(wanted.night.result().report), reader)
        raise Judging(key.build, wanted.night)

    def find_stored(
        self, reader: Store, key: NightKey, branch: Settings | None = None
    ) -> LastNight | None:
        """The newest judged night of a build, which is judged again later if data are newer.

        Args:
            reader: The store.
            key: The build's night with the current data.
            branch: Settings with a branch, whose newest stored night serves instead of one of the
                build.

        Returns:
            None if none is judged.
        """
        wanted = self._find(key)
        if wanted and wanted.judged_at:  # it is not stored yet
            report = with_notes(unpack_report(wanted.night.result().report), reader)
            return LastNight(key, report, wanted.judged_at)
        found = last_night(reader, self.settings, key.build)
        if found is None and branch is not None:
            found = last_night(reader, branch)
        if found and found.key != key:
            self._want(key, is_urgent=False)
        return found

    def _find(self, key: NightKey) -> _Wanted | None:
        """The night of a key if it was begun and is not stored, or failed a moment ago."""
        with self._changed:
            begun = self._begun.get(key[:2])
            return begun if begun and begun.answers(key) else None

    def _want(self, key: NightKey, *, is_urgent: bool) -> _Wanted:
        """The night of a key, which is judged in its turn unless it was begun.

        Raises:
            StoreError: No night is judged any more.
        """
        with self._changed:
            if self._is_ending:
                raise StoreError(str(self._store), _ENDS)
            if begun := self._find(key):
                return begun
            wanted = self._wanted.setdefault(key[:2], _Wanted(key))
            wanted.key, wanted.asked = key, time.monotonic()
            wanted.is_urgent |= is_urgent
            self._changed.notify()
            return wanted

    def _run(self) -> None:
        """Judge nights until the end; whatever it is, nobody waits any longer."""
        try:
            self._work()
        finally:
            with self._changed:
                self._is_ending = True
                for wanted in self._wanted.values():
                    wanted.night.set_exception(StoreError(str(self._store), _ENDS))

    def _work(self) -> None:
        accepted, since, is_judged = self._consumer.accepted, time.monotonic(), False
        with (
            self._note_errors("the last night cannot be read"),
            self._consumer.readers.lend() as reader,
        ):
            if before := last_night(reader, self.settings):
                self._pushes.remember(before.report)
        while not self._is_ending:
            if accepted != self._consumer.accepted:
                accepted, since, is_judged = self._consumer.accepted, time.monotonic(), False
            with self._note_errors("the night cannot be judged"):
                has_settled = time.monotonic() - since >= self._settle_seconds
                if has_settled and not is_judged and self._consumer.is_idle:
                    is_judged = True
                    self._judge_last()
                self._judge_wanted()

    @contextmanager
    def _note_errors(self, problem: str) -> Iterator[None]:
        """Turn an error of the body into a note; the thread goes on."""
        try:
            yield
        except (QueryError, WarehouseError, OSError) as error:
            if not self._is_ending:
                write_note(f"{self._store}: {problem}: {error}")

    def _judge_wanted(self) -> None:
        with self._changed:
            self._changed.wait_for(lambda: self._next() or self._is_ending, _LOOK_SECONDS)
            wanted = self._next()
        if wanted and not self._is_ending:
            self._settle(wanted)

    def _next(self) -> _Wanted | None:
        """The night to judge now: one that somebody waits for, or the last one asked for."""
        if urgent := [wanted for wanted in self._wanted.values() if wanted.is_urgent]:
            return urgent[0]
        now = time.monotonic()
        due = (one for key, one in self._wanted.items() if now >= self._due.get(key, 0.0))
        return max(due, key=lambda wanted: wanted.asked, default=None)

    def _judge_last(self) -> None:
        with self._consumer.readers.lend() as reader:
            ((count,),) = reader.sql(_COUNT).to_pydict().values()
            if not count:
                return
            key = NightKey.of(reader, self.settings, None)
            report = find_report(reader, key)
        if report is None:
            wanted = self._want(key, is_urgent=True)
            if not wanted.night.done():
                self._settle(wanted)
            report = unpack_report(wanted.night.result().report)
        try:
            self._pushes.push(report)
        except QueryError as error:
            write_note(f"{self._store}: {error}")

    def _settle(self, wanted: _Wanted) -> None:
        """Judge a night, give it or an error to those who wait, and store it.

        Raises:
            QueryError: The night cannot be judged.
            WarehouseError: The store cannot be read.
            OSError: The process that judges cannot be started.
        """
        start, place = time.monotonic(), wanted.key[:2]
        with self._changed:  # who wants newer data from now on waits for the next judgement
            self._wanted.pop(place, None)
            self._begun[place] = wanted
        try:
            night = self._judge(wanted.key.build)
        except BaseException as error:  # an interrupt, too: who waits must not wait for ever
            wanted.failed = time.monotonic()
            wanted.night.set_exception(error)
            raise
        finally:
            end = time.monotonic()
            self._due[place] = end + max(_PAUSE_SECONDS, _PAUSE_SHARE * (end - start))
        for one in self._note_judged(place, night):
            one.night.set_result(night)
        self._keep(wanted, night)

    def _note_judged(self, place: tuple[str, str], night: JudgedNight) -> list[_Wanted]:
        """Note which data a night has that was begun; returns all for whom it is the result."""
        with self._changed:
            begun = self._begun.pop(place)
            begun.key, begun.judged_at = key_of(night), datetime.now(UTC)
            now_at = begun.key[:2]  # the settings may have changed since
            self._begun[now_at] = begun
            later = self._wanted.get(now_at)
            if later is None or later.key != begun.key:
                return [begun]
            return [begun, self._wanted.pop(now_at)]

    def _keep(self, wanted: _Wanted, night: JudgedNight) -> None:
        """Store a night; one that cannot be stored is judged again when somebody wants it."""

        def end(kept: Future[None]) -> None:
            with self._note_errors("a report cannot be stored"):
                kept.result()
                self.judged_count += 1
            with self._changed:
                if self._begun.get(wanted.key[:2]) is wanted:
                    del self._begun[wanted.key[:2]]

        self._consumer.perform(lambda: self._warehouse.keep_night(night)).add_done_callback(end)

    def _judge(self, build: str) -> JudgedNight:
        """The night of a build in a snapshot that has all dumps which are accepted now.

        Raises:
            QueryError: The night cannot be judged.
            StoreError: The process died, or the snapshot cannot be published.
        """
        self._consumer.publish().result()
        child = _start_child(self._store, self._config, build)
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
        facts = {name: message[name] for name in JudgedNight._fields if name != "report"}
        return JudgedNight(**facts, report=base64.b64decode(message["report"]))


def _start_child(store: Path, config: Path | None, build: str) -> ChildProcess:
    module = "tracehouse.queries.report.nightly"
    environment = {VARIABLE: _MEMORY} | os.environ
    arguments = str(store), str(config or ""), build
    return ChildProcess(module, *arguments, environment=environment, stderr=None)
