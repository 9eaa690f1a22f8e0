from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests.support.corpus import CORPUS
from tracehouse import Warehouse
from tracehouse.ingest.errors import ManifestError
from tracehouse.ingest.manifest.resolver import ManifestResolver
from tracehouse.ingest.manifest.runner_output import parse_log, parse_printed, parse_qhas
from tracehouse.ingest.sources.places import Source

LLM = (
    "Quilter's manner less interesting than his matter.<|endoftext|>\n"
    'PyTorchObserver {"prompt_tokens":40,"generated_tokens":109,"model_load_start_ms":897,'
    '"model_load_end_ms":5864,"inference_start_ms":5864,"inference_end_ms":7270,'
    '"prompt_eval_end_ms":6100,"first_token_ms":6127,"aggregate_sampling_time_ms":21,'
    '"SCALING_FACTOR_UNITS_PER_SECOND":1000}\n'
    "I 00:01:48.694592 executorch:stats.h:121] \tPrompt Tokens: 40    Generated Tokens: 109\n"
)
NEWER = (
    'PyTorchObserver {"prefill_token_per_sec":812.5,"decode_token_per_sec":20,"prompt_tokens":13,'
    '"generated_tokens":80,"inference_start_ms":0,"prompt_eval_end_ms":10}\n'
)
ARM = """\
I [executorch:arm_perf_monitor.cpp:120 StopMeasurements()] NPU Inferences : 2
I [executorch:arm_perf_monitor.cpp:121 StopMeasurements()] NPU delegations: 4 (2.00 per inference)
I arm_perf_monitor.cpp:125] ethos-u : cycle_cnt : 1498202 cycles (749101.00 per inference)
I [executorch:arm_perf_monitor.cpp:132] Operator(s) total: 1498202 CPU cycles
I [executorch:arm_perf_monitor.cpp:138] Inference runtime: 6925114 CPU cycles total
I [executorch:arm_perf_monitor.cpp:153] Inference NPU ratio: 0.01 %
I [executorch:arm_perf_monitor.cpp:162] cpu_wait_for_npu_cntr : 729 CPU cycles
I [executorch:arm_perf_monitor.cpp:167] Ethos-U PMU report:
I [executorch:arm_perf_monitor.cpp:168] ethosu_pmu_cycle_cntr :  5920304 (2960152.00 per inference)
I [executorch:arm_perf_monitor.cpp:171] ethosu_pmu_cntr0 : 359921
I [executorch:arm_perf_monitor.cpp:171] ethosu_pmu_cntr1 : 503
I [executorch:arm_perf_monitor.cpp:171] ethosu_pmu_cntr2 : 6
Ethos-U PMU Events:[ETHOSU_PMU_EXT0_RD_DATA_BEAT_RECEIVED, ETHOSU_PMU_NPU_IDLE]
"""
QHAS = {
    "data": {
        "htp_overall_summary": {
            "data": [
                {
                    "graph_execute_us": 1210.5,
                    "inf_per_s": 826,
                    "timeline_cycles": 900,
                    "percent_utilization": 25.5,
                    "total_dram_read": 4096,
                    "peak_vtcm_alloc": 2048,
                    "htp_nodes": 31,
                    "htp_resources": {"data": [{"type": "HVX", "cycles_used": 3}]},
                    "arch": "v79",
                    "is_cut": True,
                }
            ]
        }
    }
}


def found(counters: list[dict[str, object]]) -> dict[object, tuple[object, object]]:
    return {one["name"]: (one["value"], one["unit"]) for one in counters}


def test_llm_runner_states_tokens_times_and_rates() -> None:
    assert found(parse_log(LLM)) == {
        "prompt_tokens": (40, "count"),
        "generated_tokens": (109, "count"),
        "model_load_time": (4967, "ms"),
        "first_token_time": (263, "ms"),
        "inference_time": (1406, "ms"),
        "sampling_time": (21, "ms"),
        "prefill_token_per_sec": (pytest.approx(40 / 0.236), "/s"),
        "decode_token_per_sec": (pytest.approx(109 / 1.17), "/s"),
    }


def test_rates_that_the_runner_states_win_over_our_own() -> None:
    rates = found(parse_log(NEWER))
    assert rates["prefill_token_per_sec"] == (812.5, "/s")
    assert rates["decode_token_per_sec"] == (20, "/s")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "PyTorchObserver {",
        "PyTorchObserver {}",
        'PyTorchObserver {"prompt_tokens":}',
        'PyTorchObserver {"type": "NET", "unit": "us", "metric": "latency", "value": "3"}',
        'PyTorchObserver {"prompt_tokens": true, "first_token_ms": 3}',
        'PyTorchObserver {"inference_start_ms": 5, "first_token_ms": 3}',
        "ethosu_pmu_cntr0 : many",
    ],
)
def test_truncated_or_unknown_log_lines_are_ignored(text: str) -> None:
    assert parse_log(text) == []


@pytest.mark.parametrize(
    "text",
    [
        "ethosu_pmu_cntr" + "9" * 5000 + ": 3",
        "NPU delegations: " + "9" * 400,
        'PyTorchObserver {"prompt_tokens":' + "9" * 400 + "}",
        'PyTorchObserver {"prompt_tokens":' + "9" * 5000 + "}",
        'PyTorchObserver {"prompt_tokens":' + "[" * 20_000 + "}",
        "Ethos-U PMU Events:[" * 100_000,  # took hours
        "PyTorchObserver {" * 100_000,
        "NPU delegations: 1(" + "9" * 100_000,
    ],
    ids=range(8),
)
def test_hostile_log_lines_are_cheap_and_state_only_numbers(text: str) -> None:
    assert found(parse_log(text)) in ({}, {"npu_delegations": (1, "count")})


def test_a_manifest_whose_counters_have_no_proper_names_is_refused_as_such(tmp_path: Path) -> None:
    dump = write_dump(tmp_path, {**STATED, "counters": [{"name": [1], "value": 1}]})
    with pytest.raises(ManifestError, match="counters"):
        ManifestResolver().resolve(Source(str(dump)))


def test_a_sampling_time_longer_than_the_inference_is_ignored() -> None:
    text = LLM.replace('"aggregate_sampling_time_ms":21', '"aggregate_sampling_time_ms":140733463')
    assert "sampling_time" not in found(parse_log(text))


def test_several_runner_reports_give_their_medians() -> None:
    text = "".join(
        LLM.replace('"first_token_ms":6127', f'"first_token_ms":{n}') for n in (5874, 5884, 6864)
    )
    assert found(parse_log(text))["first_token_time"] == (20, "ms")


def test_arm_runner_states_cycles_and_named_events_of_an_inference() -> None:
    assert found(parse_log(ARM)) == {
        "npu_delegations": (2, "count"),
        "ethos_u_cycles": (749101, "cycles"),
        "inference_cycles": (6925114, "cycles"),
        "cpu_wait_for_npu_cycles": (729, "cycles"),
        "npu_cycles": (2960152, "cycles"),
        "ext0_rd_data_beat_received": (359921, "beats"),
        "npu_idle": (503, "cycles"),
        "ethosu_pmu_cntr2": (6, "count"),
    }


def test_qhas_summary_states_its_numbers_with_their_units() -> None:
    assert found(parse_qhas(QHAS)) == {
        "htp_graph_execute_us": (1210.5, "us"),
        "htp_inf_per_s": (826, "/s"),
        "htp_timeline_cycles": (900, "cycles"),
        "htp_percent_utilization": (25.5, "%"),
        "htp_total_dram_read": (4096, "bytes"),
        "htp_peak_vtcm_alloc": (2048, "bytes"),
        "htp_htp_nodes": (31, "count"),
    }


@pytest.mark.parametrize("data", [None, [], {}, {"data": []}, {"data": {"htp_overall_summary": 3}}])
def test_json_of_another_shape_states_nothing(data: object) -> None:
    assert parse_qhas(data) == []


def write_dump(folder: Path, manifest: dict[str, object]) -> Path:
    dump = folder / "run.etdp"
    shutil.copy(next((CORPUS / "real").glob("mlp_portable_n*.etdp")), dump)
    (folder / "manifest.json").write_text(json.dumps(manifest))
    (folder / "run.log").write_text(LLM)
    (folder / "run.qhas.json").write_text(json.dumps(QHAS))
    return dump


STATED = {"device": "d", "build": "b", "model": "m"}


@pytest.mark.store
def test_counters_beside_a_dump_are_rows_of_the_store(tmp_path: Path) -> None:
    write_dump(tmp_path, STATED)
    with Warehouse.open(tmp_path / "store", create=True) as store:
        store.ingest([tmp_path])
        rows = store.sql("SELECT name, unit, value FROM counters ORDER BY name").to_pylist()
    assert {"name": "first_token_time", "unit": "ms", "value": 263} in rows
    assert {"name": "htp_peak_vtcm_alloc", "unit": "bytes", "value": 2048} in rows
    assert len(rows) == 15


def test_a_manifest_wins_over_what_was_printed_by_that_name(tmp_path: Path) -> None:
    own = {"name": "first_token_time", "unit": "s", "value": 3}
    dump = write_dump(tmp_path, {**STATED, "counters": [own]})
    counters = ManifestResolver().resolve(Source(str(dump))).counters or ()
    first = [(one.unit, one.value) for one in counters if one.name == "first_token_time"]
    assert first == [("s", 3)]
    assert len(counters) == 15


def test_a_summary_that_is_no_json_is_refused_by_name(tmp_path: Path) -> None:
    dump = write_dump(tmp_path, STATED)
    (tmp_path / "run.qhas.json").write_text("{")
    with pytest.raises(ManifestError, match=r"run\.qhas\.json: not valid JSON"):
        ManifestResolver().resolve(Source(str(dump)))


def test_bytes_of_other_encodings_around_a_report_do_not_hide_it() -> None:
    expected = found(parse_log(LLM))
    for data in (
        LLM.replace("\n", "\r\n").encode("utf-16"),
        LLM.encode("utf-16-be"),
        b"booting\n" + LLM.encode("utf-16-le"),  # PowerShell's >> to a log in UTF-8
        b"\xff\xfe\x00\x01" * 10 + LLM.encode(),
        f"11-24 09:35:11.519  4913  4913 I ExecuTorch: \x1b[32m{LLM}\x1b[0m".encode(),
    ):
        assert found(parse_printed("run.log", data, ".log")) == expected


@pytest.mark.parametrize("number", ["inf", "-inf", "nan", "-nan", "NaN"])
def test_number_that_is_not_finite_costs_only_its_own_figure(number: str) -> None:
    text = NEWER.replace("812.5", number)
    figures = found(parse_log(text))
    assert figures["decode_token_per_sec"] == (20, "/s")
    assert figures["prefill_token_per_sec"] == (1300, "/s")  # computed


def test_memory_of_a_gpu_is_counted() -> None:
    stats = {
        "gpu_total_bytes": 24 << 30, "gpu_free_before_load_bytes": 23 << 30,
        "gpu_free_after_load_bytes": 20 << 30, "gpu_peak_usage_mb": 3500.5,
    }  # fmt: skip
    assert found(parse_log(f"PyTorchObserver {json.dumps(stats)}")) == {
        "gpu_peak_usage_mb": (3500.5, "MiB"),
        "gpu_load_mb": (3 << 10, "MiB"),
    }


def test_log_without_a_readable_report_is_noted_once_for_all(tmp_path: Path) -> None:
    folders = [tmp_path / str(number) for number in range(3)]
    for folder in folders:
        folder.mkdir()
    dumps = [write_dump(folder, STATED) for folder in folders]
    line = LLM.splitlines()[1]
    texts = [LLM, "booting", f"I ExecuTorch: {line[:120]}\nI ExecuTorch: {line[120:]}"]
    for dump, text in zip(dumps, texts, strict=True):
        dump.with_suffix(".log").write_text(text)
        dump.with_suffix(".qhas.json").unlink()
    resolver = ManifestResolver()
    counters = [resolver.resolve(Source(str(dump))).counters for dump in dumps]
    assert [bool(own) for own in counters] == [True, False, False]
    ((doubt, (place, count)),) = resolver.doubts.items()
    assert doubt.startswith("adds no counters: no report of a known runner can be read")
    assert (place, count) == (str(dumps[1].with_suffix(".log")), 2)
