"""A driver that takes what an inbox holds into a lake, once for each line that it reads."""

from __future__ import annotations

import sys

from tracehouse.warehouse.spark.ingest import LakeIngester
from tracehouse.warehouse.spark.session import opened_session
from tracehouse.warehouse.spark.tasks import SparkTasks


def main(inbox: str, lake: str, master: str) -> None:
    """Take dumps, and print how many came in each time."""
    with opened_session(master) as session:
        tasks = SparkTasks(session)
        for _ in sys.stdin:
            print(LakeIngester(tasks, inbox, lake).ingest_all().n_dumps, flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
