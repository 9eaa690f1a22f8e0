"""Asks one engine everything, and keeps its answers and what each of them cost.

    python -m tests.tools.benchmarks.engine_worker ENGINE PLACE ANSWERS [MASTER]

ENGINE is store, duckdb or spark; PLACE the store, or the address of the lake; ANSWERS a folder.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.feather as feather

from tests.support.questions import every_query
from tests.tools.benchmarks.tree_cpu import watched_tree
from tracehouse import Warehouse
from tracehouse.warehouse.catalogue.queries import find_query

# Compiling better would cost so few questions as much again; what is compiled must fit.
_JAVA = "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=512m"
_SUMS = {
    "dumps": ("n_runs", "n_events", "byte_count"),
    "runs": ("run_index", "n_events"),
    "events": ("run_index", "occurrence", "start_offset_ticks", "duration_ticks", "flags"),
    "event_stats": ("sample_count", "min_ticks", "max_ticks"),
    "event_totals": ("event_count", "total_ticks"),
    "event_histograms": ("bucket", "event_count"),
    "run_totals": ("run_index", "execute_ticks"),
}
_WITH_DUMP = "SELECT dump_id FROM dumps ORDER BY sha256 LIMIT 1"
_OF_BACKENDS = {"base_backend": "portable", "head_backend": "xnnpack"}
_BUILDS = "SELECT build FROM builds_in_order ORDER BY position DESC LIMIT 2"


@contextmanager
def opened(engine: str, place: str, master: str | None) -> Iterator[Any]:
    """What answers: the store, or the lake."""
    if engine == "store":
        with Warehouse.open(place, read_only=True) as store:
            yield store
    elif engine == "duckdb":
        with Warehouse.open_lake(place) as lake:
            yield lake
    else:
        from tracehouse.warehouse.spark.answers import SparkLake
        from tracehouse.warehouse.spark.session import opened_session

        settings = {
            "spark.driver.memory": "4g",
            "spark.driver.extraJavaOptions": _JAVA,
            "spark.executor.extraJavaOptions": _JAVA,
            "spark.sql.shuffle.partitions": "4",
            "spark.executorEnv.PYTHONPATH": os.environ.get("PYTHONPATH", ""),
        }
        with opened_session(master, settings=settings) as session:
            yield SparkLake(session, place)


def list_questions(store: Any) -> dict[str, Callable[[], pa.Table]]:
    """Every question by its name."""
    dump = store.sql(_WITH_DUMP).column(0)[0].as_py()
    head, base = store.sql(_BUILDS).column(0).to_pylist()
    values = {"dump": dump, "base": base, "head": head, "event": "native_call_*"}
    values |= {"size_tag": "synthetic", "peak_gflops": 1, "peak_gbps": 1}
    questions = {}
    for name in every_query():
        taken = {param.name for param in find_query(name).header.params}
        params = {key: value for key, value in values.items() if key in taken}
        params |= _OF_BACKENDS if name == "backend_comparison" else {}
        questions[name] = partial(store.query, name, **params)
    questions["percentiles, approximate"] = partial(store.query, "percentiles", approx=True)
    for table, columns in _SUMS.items():
        sums = ", ".join(f"CAST(sum({one}) AS DOUBLE) AS {one}" for one in columns)
        text = f"SELECT count(*) AS row_count, {sums} FROM {table}"  # noqa: S608 - names of ours
        questions[f"sums of {table}"] = partial(store.sql, text)
    return questions


def main(engine: str, place: str, answers: str, master: str | None = None) -> None:
    """Ask, and write."""
    folder = Path(answers)
    folder.mkdir(parents=True, exist_ok=True)
    costs = {}

    def note(name: str, wall: float, cpu: float) -> None:
        costs[name] = {"wall s": wall, "CPU s": cpu}
        print(f"{engine} {master or ''} {name}: {wall:.1f} s, CPU {cpu:.1f} s", flush=True)
        (folder / "costs.json").write_text(json.dumps(costs))

    with watched_tree() as tree:
        cost_since = tree.start()
        with opened(engine, place, master) as store:
            questions = list_questions(store)
            note("start", *cost_since())
            for name, ask in questions.items():
                cost_since = tree.start()
                answer = ask()
                note(name, *cost_since())
                answers_file = folder / f"{name}.arrow"
                feather.write_feather(answer, answers_file, compression="uncompressed")


if __name__ == "__main__":
    main(*sys.argv[1:])
