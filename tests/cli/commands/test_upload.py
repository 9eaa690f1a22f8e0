from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path

import pytest

from tests.support.command import Outcome, Run, run_on_terminal
from tests.support.corpus import CORPUS, FARM
from tests.support.stand_in_service import Refused, StandIn
from tests.support.stores import write
from tests.support.tiny_dumps import tiny_dump

FOLDER = FARM / "lab-x86-quiet"
NAMES = ("--device", "pixel8", "--build", "b1", "--model", "mv2")


def counts(outcome: Outcome) -> dict[str, float]:
    (row,) = json.loads(outcome.text)
    return {name: count for name, count in row.items() if name not in {"megabytes", "seconds"}}


def test_a_folder_is_sent_and_sent_again_changes_nothing(run: Run, service: StandIn) -> None:
    sent = counts(run("upload", FOLDER, "--url", service.url, "--format", "json"))
    files = sent.pop("files")
    assert files == len(service.held) > 10
    assert sent == {"accepted": files, "known": 0, "conflicts": 0, "refused": 0, "passed_over": 0}
    again = counts(run("upload", FOLDER, "--url", service.url, "--format", "json"))
    assert again == {
        "files": files,
        "accepted": 0,
        "known": files,
        "conflicts": 0,
        "refused": 0,
        "passed_over": 0,
    }


def test_ingest_with_a_url_is_the_same(run: Run, service: StandIn) -> None:
    sent = counts(run("--url", service.url, "ingest", FOLDER, "--format", "json"))
    assert (sent["accepted"], sent["refused"]) == (len(service.held), 0)
    done = run("--url", service.url, "ingest", FOLDER, "--snapshot")
    assert (done.code, "are for local stores" in done.err) == (2, True)


def test_names_and_companions_are_found_as_ingest_does(
    run: Run, service: StandIn, tmp_path: Path
) -> None:
    shutil.copy(CORPUS / "real/traced_intdesc_n1_debug.etdp", tmp_path / "run.etdp")
    shutil.copy(CORPUS / "real/traced_intdesc_n1_debug.debug.bin", tmp_path / "run.debug.bin")
    write(tmp_path / "run.json", b'{"build": "b7"}')
    done = run(
        "--url", service.url, "upload", tmp_path, "--device", "pixel8", "--model", "mv2", "--quiet"
    )
    assert (done.code, done.err) == (0, "")
    ((_, held),) = service.held.items()
    assert json.loads(held["manifest"])["build"] == {"id": "b7"}
    assert held["debug_buffer"] == (tmp_path / "run.debug.bin").read_bytes()


def test_refusals_are_listed_and_fail_unless_they_may_be(
    run: Run, service: StandIn, tmp_path: Path
) -> None:
    for number in range(3):
        write(tmp_path / f"{number}.etdp", tiny_dump(number))
    first = hashlib.sha256(tiny_dump(0)).hexdigest()
    service.faulty = {first: Refused(400, reason="truncated", detail="ends early")}
    args = ("upload", tmp_path, *NAMES, "--url", service.url, "--jobs", "1", "--format", "json")
    done = run(*args)
    assert (done.code, counts(done)["refused"]) == (1, 1)
    assert done.error == f"refused: {tmp_path}/0.etdp: ends early [truncated]"
    service.faulty = {first: Refused(409, reason="conflict", detail="other manifest")}
    done = run(*args, "--keep-going")
    assert (done.code, counts(done)["conflicts"], counts(done)["known"]) == (0, 1, 2)


def test_a_busy_service_is_waited_for(run: Run, service: StandIn, tmp_path: Path) -> None:
    write(tmp_path / "run.etdp", tiny_dump(1))
    service.refusals = [Refused(429, {"Retry-After": "0"}), Refused(503, {"Retry-After": "0"})]
    done = run("upload", tmp_path, *NAMES, "--url", service.url, "--format", "json")
    assert (done.code, counts(done)["accepted"], len(service.asked)) == (0, 1, 3)
    service.refusals = [Refused(429, {"Retry-After": "0"})]
    done = run("upload", tmp_path, *NAMES, "--url", service.url, "--wait", "0")
    assert (done.code, done.error.endswith("429: not now")) == (1, True)


def test_address_and_token_may_stand_before_or_behind_its_name(
    run: Run, service: StandIn, tmp_path: Path
) -> None:
    dump, token = write(tmp_path / "run.etdp", tiny_dump(1)), write(tmp_path / "token", b"th_x")
    url, file = ("--url", service.url), ("--token-file", token)
    for before, behind in (((), url + file), (url, file), (file, url), (url + file, ())):
        assert run(*before, "upload", dump, *NAMES, *behind).code == 0
    assert [asked.headers["Authorization"] for asked in service.asked] == ["Bearer th_x"] * 4


def test_upload_needs_a_service_url(run: Run, tmp_path: Path) -> None:
    done = run("upload", tmp_path)
    assert (done.code, "wanted the service's URL" in done.err) == (2, True)


@pytest.mark.system
@pytest.mark.slow
def test_upload_on_a_terminal_shows_progress(service: StandIn) -> None:
    shown = run_on_terminal("upload", FARM, "--url", service.url)
    assert (shown.code, "events" in shown.text) == (0, False)
    assert f"{len(service.held)}/{len(service.held)} files" in shown.text.replace("  ", " ")
