from __future__ import annotations

import pytest

from ingest.manifest.benchmark_results import parse_benchmark_results

MODEL = {"name": "mv2", "backend": "xnnpack", "quantization": "q8"}
STATED = {"model": "mv2", "backend": "xnnpack", "quantization": "q8"}


@pytest.mark.parametrize(
    ("device", "found"),
    [
        (
            {"device": "samsung", "arch": "SM-S901U1", "os": "Android 13", "totalMem": 0},
            {"device": "samsung SM-S901U1", "os": "Android", "os_version": "13"},
        ),
        (
            {"device": "iPhone 15.4", "arch": "iPhone 15.4", "os": "iOS 17.2.1"},
            {"device": "iPhone 15.4", "os": "iOS", "os_version": "17.2.1"},
        ),
        ({"device": "Pixel", "os": "Fuchsia dev"}, {"device": "Pixel", "os": "Fuchsia dev"}),
    ],
)
def test_records_of_the_benchmark_apps_state_model_and_device(
    device: dict[str, object], found: dict[str, str]
) -> None:
    record = {"benchmarkModel": MODEL, "deviceInfo": device, "metric": "load", "actualValue": 4}
    assert parse_benchmark_results([record, record]) == STATED | found


def test_records_of_the_benchmark_database_state_model_and_device() -> None:
    record = {
        "benchmark": {"name": "ExecuTorch", "mode": "inference"},
        "model": {"name": "mv2", "type": "OSS model", "backend": "xnnpack_q8"},
        "metric": {"name": "load", "benchmark_values": [4]},
        "runners": [
            {"name": "Galaxy S22 5G (private)", "type": "Android 13", "avail_mem_in_gb": 0}
        ],
    }
    assert parse_benchmark_results([record]) == {
        "model": "mv2",
        "backend": "xnnpack_q8",
        "device": "Galaxy S22 5G (private)",
        "os": "Android",
        "os_version": "13",
    }


def test_only_fields_that_all_records_agree_on_are_stated() -> None:
    records = [{"benchmarkModel": MODEL}, {"benchmarkModel": {**MODEL, "name": "ic4"}}]
    assert parse_benchmark_results(records) == {"backend": "xnnpack", "quantization": "q8"}


@pytest.mark.parametrize("data", [[], {}, None, 5, ["x"], [{"model": 5}], [{}], [{"runners": []}]])
def test_data_of_another_shape_states_nothing(data: object) -> None:
    assert parse_benchmark_results(data) == {}
