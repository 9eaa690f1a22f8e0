from __future__ import annotations

import pytest

from tracehouse.ingest.manifest.sidecars import parse_benchmark_results

MODEL = {"name": "mv2", "backend": "xnnpack", "quantization": "q8"}
SOURCE = "benchmark_results.json"
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
    counters = [{"name": "load", "unit": "count", "source": SOURCE, "value": 4}]
    assert parse_benchmark_results([record, record]) == {**STATED, **found, "counters": counters}


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
        "counters": [{"name": "load", "unit": "count", "source": SOURCE, "value": 4}],
    }


def _metric(name: str, *values: float, method: str = "forward") -> dict[str, object]:
    metric = {"name": name, "benchmark_values": list(values), "extra_info": {"method": method}}
    return {"model": {"name": "mv2"}, "metric": metric}


def _counters(*records: dict[str, object]) -> list[tuple[object, ...]]:
    found = parse_benchmark_results(list(records)).get("counters", [])
    assert isinstance(found, list)
    return [(counter["name"], counter["unit"], counter["value"]) for counter in found]


def test_a_metric_is_a_counter_with_the_unit_of_its_name() -> None:
    assert _counters(
        _metric("avg_inference_latency(ms)", 12.5),
        _metric("peak_inference_mem_usage (mb)", 80, 90, 82),
        _metric("token_per_sec", 31),
    ) == [
        ("avg_inference_latency", "ms", 12.5),
        ("peak_inference_mem_usage", "mb", 82),
        ("token_per_sec", "/s", 31),
    ]


def test_units_stand_in_brackets_at_the_end_of_a_metric() -> None:
    names = [
        "a (b)",
        "a(b)(c)",
        "a ()",
        "(ms)",
        "a(b",
        "a(b) ",
        "x" + " " * 100_000,
        "loads_PERSEC",
    ]
    found = [(str(name)[:9], unit) for name, unit, _ in _counters(*(_metric(n, 1) for n in names))]
    assert found == [
        ("a", "b"),
        ("a(b)(c)", "count"),
        ("a ()", "count"),
        ("(ms)", "count"),
        ("a(b", "count"),
        ("a(b) ", "count"),
        ("x" + " " * 8, "count"),
        ("loads_PER", "/s"),
    ]


def test_methods_are_named_where_a_metric_has_several() -> None:
    assert _counters(
        _metric("latency(ms)", 1, method="prefill"), _metric("latency(ms)", 2, method="decode")
    ) == [("latency prefill", "ms", 1), ("latency decode", "ms", 2)]


@pytest.mark.parametrize("metric", [5, None, ["x"], {"name": "x", "benchmark_values": ["y"]}])
def test_a_metric_of_another_shape_is_left_out(metric: object) -> None:
    record = {"model": {"name": "mv2"}, "metric": metric, "actualValue": "y"}
    assert parse_benchmark_results([record]) == {"model": "mv2"}
    nan = {"model": {"name": "mv2"}, "metric": "x", "actualValue": float("nan")}
    assert parse_benchmark_results([nan]) == {"model": "mv2"}


def test_metrics_of_several_models_are_not_assigned_to_a_dump() -> None:
    other = _metric("latency(ms)", 2) | {"model": {"name": "ic4"}}
    assert _counters(_metric("latency(ms)", 1), other) == []


def test_only_fields_that_all_records_agree_on_are_stated() -> None:
    records = [{"benchmarkModel": MODEL}, {"benchmarkModel": {**MODEL, "name": "ic4"}}]
    assert parse_benchmark_results(records) == {"backend": "xnnpack", "quantization": "q8"}


@pytest.mark.parametrize("data", [[], {}, None, 5, ["x"], [{"model": 5}], [{}], [{"runners": []}]])
def test_data_of_another_shape_states_nothing(data: object) -> None:
    assert parse_benchmark_results(data) == {}
