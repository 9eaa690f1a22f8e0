from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests.support.service import service_of, serving
from tracehouse.cli.serve.access.authorization import ANYONE
from tracehouse.cli.serve.http.problems import Problem
from tracehouse.cli.serve.jobs import Jobs
from tracehouse.cli.upkeep.tasks import Forget, TakeSnapshot
from tracehouse.warehouse.errors import NoSuchDumpError, StoreError
from tracehouse.warehouse.load.summary import IngestProgress


def test_a_failed_task_raises_its_error_to_the_one_who_waits(tmp_path: Path) -> None:
    with serving(tmp_path) as client:
        job = Jobs(service_of(client)).begin(ANYONE, Forget(device="nobody"))
        asyncio.run(job.wait())
        with pytest.raises(NoSuchDumpError):
            job.result()
        jobs = Jobs(service_of(client))
        failed = jobs.begin(ANYONE, Forget(device="nobody"), "key")
        asyncio.run(failed.wait())
        assert jobs.begin(ANYONE, Forget(device="nobody"), "key") is not failed
        jobs = Jobs(service_of(client))
    job = jobs.begin(ANYONE, TakeSnapshot())
    assert job.has_ended
    with pytest.raises(StoreError, match="the service ends"):
        job.result()


def test_the_results_of_old_jobs_are_forgotten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tracehouse.cli.serve.jobs._MOST_KEPT", 2)
    with serving(tmp_path) as client:
        jobs, made = Jobs(service_of(client)), []
        for number in range(3):
            made.append(jobs.begin(ANYONE, TakeSnapshot(), f"key{number}"))
            asyncio.run(made[-1].wait())
        assert jobs.begin(ANYONE, TakeSnapshot(), "key2") is made[2]
        assert jobs.begin(ANYONE, TakeSnapshot(), "key0") is not made[0]
    with pytest.raises(Problem, match="no such job"):
        jobs.find(made[0].id, ["upkeep"])


def test_a_service_that_ends_does_not_wait_for_the_rest_of_a_task(tmp_path: Path) -> None:
    with serving(tmp_path) as client:
        consumer = service_of(client).consumer
        consumer.check_running()
        job = Jobs(service_of(client)).begin(ANYONE, TakeSnapshot())
        asyncio.run(job.wait())
        job._note(IngestProgress(1, 3, 0, 0))
        assert (job.done, job.total) == (1, 3)
    with pytest.raises(StoreError, match="the service ends"):
        job._note(IngestProgress(2, 3, 0, 0))
