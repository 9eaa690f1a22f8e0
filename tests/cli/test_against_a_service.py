"""The command line against a service, as users have both: the same answers as from its store."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.command import Run
from tests.support.corpus import CORPUS, FARM
from tests.support.cross_section import cross_section
from tests.support.service_process import ServiceProcess
from tests.support.stores import write
from tests.support.waiting import until
from tracehouse import StreamingTracer, UploadSink


@pytest.fixture(scope="module")
def service(store: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, str]]:
    """A copy of the store, and the address of its service."""
    served = tmp_path_factory.mktemp("served") / "farm.store"
    shutil.copytree(store, served)
    with ServiceProcess(served) as running:
        yield served, running.url


QUESTIONS = [
    ("query", "dumps"),
    ("compare", "base", "ch26"),
    ("plan",),
    ("ls",),
    ("schema", "named_events"),
    ("sql", "SELECT device, count(*) AS n FROM named_dumps GROUP BY device ORDER BY device"),
]


@pytest.mark.parametrize("args", cross_section([(args,) for args in QUESTIONS], 3), ids=" ".join)
def test_answers_are_those_of_the_store(
    run: Run, store: Path, service: tuple[Path, str], args: tuple[str, ...]
) -> None:
    here = run(*args, "--store", store, "--format", "json")
    there = run("--url", service[1], *args, "--format", "json")
    assert (there.code, there.text) == (0, here.text), there.err


@pytest.mark.parametrize(
    "args",
    [
        ("query", "percentiles", "--model", "none"),
        ("sql", "SELECT none FROM dumps"),
    ],
    ids=" ".join,
)
def test_refusals_are_those_of_the_store(
    run: Run, store: Path, service: tuple[Path, str], args: tuple[str, ...]
) -> None:
    here = run(*args, "--store", store)
    there = run("--url", service[1], *args)
    assert (there.code, there.err) == (here.code, here.err)


@pytest.mark.slow
def test_report_is_that_of_the_store(
    run: Run, store: Path, service: tuple[Path, str], tmp_path: Path
) -> None:
    for form in ("markdown", "json", "junit"):
        args = ("report", "--format", form)
        here, there = run(*args, "--store", store), run("--url", service[1], *args)
        assert (there.code, there.text) == (0, here.text)
    file = tmp_path / "report.md"
    done = run("--url", service[1], "report", "--output", file)
    assert (done.code, done.err.splitlines()[1]) == (0, f"report: {file}")


def test_a_branch_is_that_of_the_store(run: Run, store: Path, service: tuple[Path, str]) -> None:
    args = ("report", "--branch", "nowhere")
    here, there = run(*args, "--store", store), run("--url", service[1], *args)
    assert (here.code, there.code) == (1, 1)
    for outcome in (here, there):
        assert "no build in the store is of the branch 'nowhere'" in outcome.error


def test_uploads_are_answered_for_soon(run: Run, service: tuple[Path, str], tmp_path: Path) -> None:
    _, url = service
    sink = UploadSink(url, {"device": "traced", "build": "b1", "model": "mv2"})
    with StreamingTracer(sink).block("forward"):
        pass
    sink.close()
    write(tmp_path / "run.etdp", (CORPUS / "real/traced_intdesc_n1_debug.etdp").read_bytes())
    buffer = (CORPUS / "real/traced_intdesc_n1_debug.debug.bin").read_bytes()
    write(tmp_path / "run.debug.bin", buffer)
    write(tmp_path / "broken.etdp", b"no dump")
    names = ("--device", "sent", "--build", "b1", "--model", "mv2")
    done = run("upload", tmp_path, *names, "--url", url, "--format", "json")
    (row,) = json.loads(done.text)
    assert (done.code, row["accepted"], row["refused"]) == (1, 2 - 1, 1)
    assert done.error.startswith(f"refused: {tmp_path}/broken.etdp: ")
    names = ("--device", "other", "--build", "b1", "--model", "mv2")
    done = run("upload", tmp_path / "run.etdp", *names, "--url", url, "--format", "json")
    assert (done.code, json.loads(done.text)[0]["conflicts"]) == (1, 1)

    def devices() -> set[str]:
        answer = run("--url", url, "query", "dumps", "--format", "json")
        return {row["device"] for row in json.loads(answer.text)}

    until(lambda: {"traced", "sent"} <= devices())
    assert run("--url", url, "status").code == 0


@pytest.mark.slow
def test_an_ingest_token_may_only_ingest_into_its_pool(run: Run, tmp_path: Path) -> None:
    store, dump = tmp_path / "store", CORPUS / "real" / "mlp_xnnpack_n1.etdp"
    names = ("--device", "a", "--pool", "lab", "--build", "b1", "--model", "mlp")
    assert run("ingest", FARM / "lab-x86-quiet" / "qt00.zip", "--store", store).code == 0
    token = run("token", "create", "lab", "--scope", "ingest", "--pool", "lab", "--store", store)
    write(tmp_path / "token", token.out)
    with ServiceProcess(store) as running:
        url = running.url
        refused = run("upload", dump, *names, "--url", url)
        assert refused.code == 1
        assert "401: " in refused.error
        assert "give a token in $TRACEHOUSE_TOKEN or a file (--token-file)" in refused.error
        with_token = ("--url", url, "--token-file", tmp_path / "token")
        assert run("upload", dump, *names, *with_token).code == 0
        others = (*names[:2], "--pool", "other", *names[4:])
        refused = run("upload", dump, *others, *with_token)
        assert (refused.code, "[pool]" in refused.error) == (1, True)
        refused = run(*with_token, "query", "dumps")
        assert (refused.code, "403: " in refused.error) == (1, True)


@pytest.mark.slow
def test_a_watch_leaves_its_dumps_to_the_service_of_the_store(
    run: Run, service: tuple[Path, str], tmp_path: Path
) -> None:
    store, url = service
    write(tmp_path / "run.etdp", (CORPUS / "real/mlp_xnnpack_n1.etdp").read_bytes())
    names = ("--device", "watched", "--build", "b1", "--model", "mlp")
    done = run("watch", tmp_path, *names, "--once", "--quiet-seconds", "0", "--store", store)
    assert (done.code, done.err.splitlines()[-1]) == (0, "1 accepted, 0 known, 0 refused")
    until(lambda: "watched" in run("--url", url, "query", "dumps").text)
