"""The output of runners as shells, logcat and UARTs write it: counters, or a note."""

from __future__ import annotations

import json
from pathlib import Path

from tests.support.command import Run
from tests.support.ingesting import ask, ingest_files, write_all
from tests.support.traced_dumps import traced_dump

STATS = {
    "prefill_token_per_sec": 120.5, "decode_token_per_sec": 9.25, "prompt_tokens": 7,
    "generated_tokens": 20, "inference_start_ms": 1900, "inference_end_ms": 4000,
    "prompt_eval_end_ms": 1958, "first_token_ms": 1960,
}  # fmt: skip
GPU = {"gpu_free_before_load_bytes": 5 << 20, "gpu_free_after_load_bytes": 2 << 20}


def report(**more: object) -> str:
    return "PyTorchObserver " + json.dumps({**STATS, **more}, separators=(",", ":"))


LINE = report()
LOGCAT = "11-24 09:35:11.519  4913  4913 I ExecuTorch: "
# By name: the log, and the number of its counters.
LOGS = {
    "plain": (LINE.encode(), 6),
    "windows": (f"{LINE}\r\n".encode(), 6),
    "powershell": (f"\ufeff{LINE}\r\n".encode("utf-16-le"), 6),
    "logcat": (f"{LOGCAT}{LINE}\n".encode(), 6),
    "ansi": (f"\x1b[32m{LINE}\x1b[0m\n".encode(), 6),
    "binary": (b"\xff\xfe\x00\x01" * 10 + LINE.encode(), 6),
    "infinite": (LINE.replace("9.25", "inf").encode(), 6),
    "gpu": (report(**GPU).encode(), 7),
    "arm": (b"I [executorch:arm_perf_monitor.cpp:182] NPU delegations: 4\r\n", 1),
    "split": (f"{LOGCAT}{LINE[:99]}\n{LOGCAT}{LINE[99:]}\n".encode(), 0),
    "cut": (LINE[:99].encode(), 0),
    "other": (b"booting\n", 0),
}


def test_each_log_gives_its_counters_or_a_note(run: Run, own: Path, tmp_path: Path) -> None:
    files = {f"{name}/run.log": data for name, (data, _) in LOGS.items()}
    files |= {f"{name}/run.etdp": traced_dump(n) for n, name in enumerate(LOGS)}
    folder = write_all(tmp_path / "in", {**files, "plain/other.txt": LINE.encode()})
    done = ingest_files(run, own, folder)
    rows = ask(
        own,
        "SELECT d.source, count(c.dump_id) AS n FROM dumps AS d LEFT JOIN counters AS c "
        "USING (dump_id) GROUP BY d.source",
    )
    counts = {Path(row["source"]).parent.name: row["n"] for row in rows}
    assert counts == {name: count for name, (_, count) in LOGS.items()}
    passed, silent = done.notes
    assert passed == "note: passed over: 1 file (1 *.txt)"
    assert silent.startswith(f"note: {folder}/cut/run.log and 2 more: adds no counters")
