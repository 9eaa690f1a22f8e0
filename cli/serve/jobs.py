"""Jobs: upkeep tasks that a service does one after the other, between two drains of its inbox."""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Callable, Collection
from concurrent.futures import Future

import pyarrow as pa

from tracehouse.cli.serve.access.authorization import Bearer
from tracehouse.cli.serve.http.problems import Problem
from tracehouse.cli.serve.http.threads import wait_for_end
from tracehouse.cli.serve.service import Service
from tracehouse.cli.upkeep.task import Task, TaskStore
from tracehouse.warehouse.load.summary import IngestProgress

_MOST_WAITING = 16
_MOST_KEPT = 64  # including ended jobs, whose rows can be requested again


class Job:
    """A task of a client.

    Attributes:
        id: Id in the address of its result.
        task: The task.
        done: Parts of the task that are done.
        total: Parts of the task; 0 if it does not say.
    """

    def __init__(self, task: Task) -> None:
        self.id, self.task = uuid.uuid4().hex, task
        self.done, self.total = 0, 0
        self._future: Future[pa.Table] = Future()
        self._check_running: Callable[[], None] = lambda: None

    @property
    def has_ended(self) -> bool:
        """Whether the task is done or has failed."""
        return self._future.done()

    @property
    def has_failed(self) -> bool:
        """Whether the task has raised an error."""
        return self.has_ended and self._future.exception() is not None

    def begin(self, service: Service, user: str | None) -> None:
        """Have the service's consumer do the task for a user."""
        consumer = service.consumer
        store = TaskStore(
            service.store,
            service.warehouse,
            lambda: consumer.compact(self._note),
            user=user,
            config=service.config,
            progress=self._note,
        )
        self._check_running = consumer.check_running
        self._future = consumer.perform(lambda: self.task.run(store))

    def call_at_end(self, function: Callable[[], object]) -> None:
        """Call a function when the task has ended, in any thread."""
        self._future.add_done_callback(lambda _: function())

    async def wait(self, seconds: float | None = None) -> None:
        """Wait until the task has ended, or some seconds."""
        await wait_for_end(self._future, seconds)

    def result(self) -> pa.Table:
        """The rows of a task that has ended; an error of the task is raised."""
        return self._future.result(0)

    def _note(self, progress: IngestProgress) -> None:
        self.done, self.total = progress.done_files, progress.total_files
        self._check_running()


class Jobs:
    """The jobs of a service since its start; the oldest ones are forgotten.

    Attributes:
        done: Number of jobs that are done and have not failed, by task.
    """

    def __init__(self, service: Service) -> None:
        self._service = service
        self._jobs: dict[str, Job] = {}
        self._ids: dict[tuple[str, str], str] = {}  # by client and key
        self.done: Counter[str] = Counter()

    def begin(self, bearer: Bearer, task: Task, key: str = "") -> Job:
        """A job that does the task; with the key of an earlier request, the job of that request.

        A task that failed is begun again.

        Raises:
            Problem: Too many jobs wait, or the key was sent with another task.
        """
        known = self._jobs.get(self._ids.get((bearer.name, key), ""))
        if key and known and not known.has_failed:
            if known.task != task:
                raise Problem(409, "key", "this key was sent with another task: send a new one")
            return known
        waiting = sum(not job.has_ended for job in self._jobs.values())
        if waiting >= _MOST_WAITING:
            detail = f"{waiting} tasks wait or are being done: try again in a minute"
            raise Problem(429, "busy", detail, retry_after=60)
        job = Job(task)
        self._jobs[job.id] = job
        self._ids[bearer.name, key] = job.id
        self._forget_old()
        job.begin(self._service, bearer.name or None)
        job.call_at_end(lambda: None if job.has_failed else self.done.update([task.name]))
        return job

    def find(self, job_id: str, scopes: Collection[str]) -> Job:
        """The job of an id, for a client with some scopes.

        Raises:
            Problem: 404 if there is none that these scopes allow.
        """
        job = self._jobs.get(job_id)
        if job is None or set(job.task.scopes).isdisjoint(scopes):
            detail = "there is no such job, or the service was started again: look at the store"
            raise Problem(404, "unknown_job", detail)
        return job

    def _forget_old(self) -> None:
        ended = [job_id for job_id, job in self._jobs.items() if job.has_ended]
        for job_id in ended[: max(len(self._jobs) - _MOST_KEPT, 0)]:
            del self._jobs[job_id]
        self._ids = {key: job_id for key, job_id in self._ids.items() if job_id in self._jobs}
