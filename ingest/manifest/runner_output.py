"""The output of a dump's runner: a log (``NAME.log``) or a QHAS summary (``NAME.qhas.json``).

Three producers are known:

* ExecuTorch's LLM runner ends with a line ``PyTorchObserver {...}`` (`print_report` in
  extension/llm/runner/stats.h);
* Arm's executor_runner reports cycles and the NPU's event counters (`StopMeasurements` in
  examples/arm/executor_runner/arm_perf_monitor.cpp);
* QNN's profile viewer summarises an OpTrace as JSON (``htp_overall_summary``, which
  backends/qualcomm/debugger/utils.py reads).
"""

from __future__ import annotations

import json
import math
import re
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from operator import methodcaller
from statistics import median

from tracehouse.ingest.allowance import Allowance, AllowanceError
from tracehouse.ingest.errors import ManifestError
from tracehouse.ingest.manifest.json_files import parse_json
from tracehouse.ingest.sources.file_names import LOG_SUFFIX, QHAS_SUFFIX, FolderFiles, stem_of
from tracehouse.ingest.sources.places import Source
from tracehouse.ingest.strict_json import unique_keys

Counters = list[dict[str, object]]
_Figure = tuple[str, str, float]  # name, unit, value

MAX_PRINTED_BYTES = 16 << 20  # read of a QHAS summary, or of the end of a log
MAX_PRINTED_MARKS = 1_000_000  # commas, colons and brackets of a QHAS summary
MAX_FIGURES = 100_000  # in one file
MAX_PRINTED_COUNTERS = 1_000  # counters of one file: a manifest has room for about as many
_MOST_OBSERVER_LENGTH = 4_096
# A log may be hostile: matching is linear, and no number has more than 18 digits.
_OBSERVER = re.compile(r"PyTorchObserver (\{[^{}\[\]]*\})")
# C++ prints numbers that JSON lacks; those figures are left out.
_NOT_FINITE = re.compile(r":\s*[-+]?(?:nan|inf)\b", re.IGNORECASE)
_COUNTED = ("prompt_tokens", "generated_tokens")
_MIB = 1 << 20
_SPANS = {
    "model_load_time": ("model_load_start_ms", "model_load_end_ms"),
    "first_token_time": ("inference_start_ms", "first_token_ms"),
    "inference_time": ("inference_start_ms", "inference_end_ms"),
}
_RATES = {
    "prefill_token_per_sec": ("prompt_tokens", "inference_start_ms", "prompt_eval_end_ms"),
    "decode_token_per_sec": ("generated_tokens", "prompt_eval_end_ms", "inference_end_ms"),
}
_ARM = {
    "NPU delegations": ("npu_delegations", "count"),
    "ethos-u : cycle_cnt": ("ethos_u_cycles", "cycles"),
    "Inference runtime": ("inference_cycles", "cycles"),
    "cpu_wait_for_npu_cntr": ("cpu_wait_for_npu_cycles", "cycles"),
    "ethosu_pmu_cycle_cntr": ("npu_cycles", "cycles"),
}
_ARM_LINE = re.compile(
    rf"({'|'.join(_ARM)}|ethosu_pmu_cntr\d{{1,9}}) ?:\s*(\d{{1,18}})\b[^(\n]*"
    r"(?:\((\d{1,18}(?:\.\d{1,18})?) per inference\))?"
)
_ARM_EVENTS = re.compile(r"Ethos-U PMU Events:\[([^\[\]\n]*)\]")
_QHAS_UNITS = {"_us": "us", "_cycles": "cycles", "_per_s": "/s"}


def read_printed(
    source: Source, files: FolderFiles | None, read: Callable[[str, Source], Counters]
) -> Counters:
    """The counters in the output of a dump's runner, in which `read` finds them by suffix.

    `files` are those in the dump's folder, if known. Errors of `read` are passed on.
    """
    stem = stem_of(source.file_name)
    counters: Counters = []
    for suffix in (LOG_SUFFIX, QHAS_SUFFIX):
        name = f"{stem}{suffix}" if files is None else files.find(f"{stem}{suffix}")
        if name:
            counters += read(suffix, source.folder.file(name))
    return counters


def parse_printed(place: str, data: bytes | memoryview, suffix: str) -> Counters:
    """The counters in the output of a runner; the suffix distinguishes a QHAS summary from a log.

    Raises:
        ManifestError: The summary is not JSON, or the output exceeds a limit.
    """
    try:
        if suffix == QHAS_SUFFIX:
            most = {"most_bytes": MAX_PRINTED_BYTES, "most_marks": MAX_PRINTED_MARKS}
            return parse_qhas(parse_json(place, data, **most))
        return parse_log(bytes(data[-MAX_PRINTED_BYTES:]).decode("utf-8", "replace"))
    except AllowanceError as error:
        raise ManifestError(place, str(error)) from error


def add_counters(stated: object, printed: Sequence[Mapping[str, object]]) -> object:
    """The counters that a manifest states, and printed counters with other names."""
    if stated is None:
        return list(printed)
    if not isinstance(stated, list):
        return stated  # validation refuses it
    names = [one.get("name") for one in stated if isinstance(one, Mapping)]
    return [*stated, *(one for one in printed if one["name"] not in names)]


def counters_of(fields: Mapping[str, object]) -> Counters:
    """The counters among the fields that the output of a runner states."""
    counters = fields.get("counters", [])
    return counters if isinstance(counters, list) else []


def parse_log(text: str) -> Counters:
    """The counters in a log; the median where it has several reports.

    Unknown and truncated lines are ignored. NULs are removed: what PowerShell redirects is UTF-16,
    in a whole log or where it appends to one.

    >>> parse_log('PyTorchObserver {"prompt_tokens":7,"inference_start_ms":0,"first_token_ms":90}')
    [{'name': 'prompt_tokens', 'unit': 'count', 'source': 'LLM runner', 'value': 7.0}, \
{'name': 'first_token_time', 'unit': 'ms', 'source': 'LLM runner', 'value': 90.0}]
    """
    text = text.replace("\0", "")
    llm, arm = _read_observers(text), _read_arm(text)
    return [*_list_counters(llm, "LLM runner"), *_list_counters(arm, "Arm runner")]


def parse_qhas(data: object) -> Counters:
    """The counters in a QHAS summary; none if the data has another shape.

    >>> parse_qhas({"data": {"htp_overall_summary": {"data": [{"time_us": 310, "qnn_nodes": 7}]}}})
    [{'name': 'htp_time_us', 'unit': 'us', 'source': 'QHAS', 'value': 310.0}, \
{'name': 'htp_qnn_nodes', 'unit': 'count', 'source': 'QHAS', 'value': 7.0}]
    """
    for key in ("data", "htp_overall_summary", "data"):
        data = data.get(key) if isinstance(data, Mapping) else None
    rows = data if isinstance(data, list) else []
    figures = (
        (f"htp_{name}", _qhas_unit(name), value)
        for row in rows
        if isinstance(row, Mapping)
        for name in row
        if (value := _number(row, name)) is not None
    )
    return _list_counters(figures, "QHAS")


def _list_counters(figures: Iterable[_Figure], source: str) -> Counters:
    """The medians of the figures; an AllowanceError is raised if there are too many."""
    values: dict[tuple[str, str], list[float]] = defaultdict(list)
    all_figures = Allowance(MAX_FIGURES, "figures")
    for name, unit, value in figures:
        all_figures.take(1)
        values[name, unit].append(value)
    Allowance(MAX_PRINTED_COUNTERS, "counters").take(len(values))
    medians = ((name, unit, median(own)) for (name, unit), own in values.items())
    return [
        {"name": name, "unit": unit, "source": source, "value": value}
        for name, unit, value in medians
        if math.isfinite(value)
    ]


def _read_observers(text: str) -> Iterator[_Figure]:
    for found in islice(_OBSERVER.finditer(text), MAX_FIGURES + 1):
        if len(found[1]) > _MOST_OBSERVER_LENGTH:
            continue
        try:
            stats = json.loads(_NOT_FINITE.sub(":null", found[1]), object_pairs_hook=unique_keys)
        except ValueError:
            continue
        yield from _read_observer(stats)


def _read_observer(stats: Mapping[str, object]) -> Iterator[_Figure]:
    spans = {name: _span(stats, *ends) for name, ends in _SPANS.items()}
    # Runners of 2024 left the time of sampling uninitialised: it can be longer than the inference.
    sampling, whole = _number(stats, "aggregate_sampling_time_ms"), spans["inference_time"]
    is_time = sampling is not None and whole is not None and sampling <= whole
    spans["sampling_time"] = sampling if is_time else None
    for unit, figures in (
        ("count", {name: _number(stats, name) for name in _COUNTED}),
        ("ms", spans),
        ("MiB", _read_gpu(stats)),
        ("/s", {name: _rate(stats, name) for name in _RATES}),
    ):
        for name, value in figures.items():
            if value is not None:
                yield name, unit, value


def _read_gpu(stats: Mapping[str, object]) -> dict[str, float | None]:
    """Memory of a GPU: the most that was used, and what loading the program took."""
    loaded = _span(stats, "gpu_free_after_load_bytes", "gpu_free_before_load_bytes")
    return {
        "gpu_peak_usage_mb": _number(stats, "gpu_peak_usage_mb"),
        "gpu_load_mb": loaded / _MIB if loaded is not None else None,
    }


def _rate(stats: Mapping[str, object], name: str) -> float | None:
    """A rate as newer runners state it, else computed from a count and two times."""
    counted, start, end = _RATES[name]
    stated, count, span = _number(stats, name), _number(stats, counted), _span(stats, start, end)
    return 1000 * count / span if stated is None and count and span else stated


def _read_arm(text: str) -> Iterator[_Figure]:
    """Cycles and events, per inference where the report states the number of inferences."""
    events = [event.strip() for event in _last(_ARM_EVENTS.findall(text)).split(",")]
    for what, total, each in map(methodcaller("groups", ""), _ARM_LINE.finditer(text)):
        if what in _ARM:
            name, unit = _ARM[what]
        else:
            place = int(what.removeprefix("ethosu_pmu_cntr"))
            event = events[place] if place < len(events) else ""
            name = event.removeprefix("ETHOSU_PMU_").lower() or what
            unit = "beats" if "_beat_" in name else "cycles" if event else "count"
        yield name, unit, float(each or total)


def _last(found: list[str]) -> str:
    return found[-1] if found else ""


def _span(stats: Mapping[str, object], start: str, end: str) -> float | None:
    """What lies between two readings; None if one is missing, or the last one is lower."""
    first, last = _number(stats, start), _number(stats, end)
    return last - first if first is not None and last is not None and last >= first else None


def _number(stated: Mapping[str, object], name: str) -> float | None:
    value = stated.get(name)
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    is_finite = is_number and abs(value) <= sys.float_info.max  # type: ignore[arg-type]
    return float(value) if is_finite else None  # type: ignore[arg-type]


def _qhas_unit(name: str) -> str:
    if name.startswith("percent_"):
        return "%"
    if "dram" in name or "vtcm" in name:
        return "bytes"
    return next((unit for end, unit in _QHAS_UNITS.items() if name.endswith(end)), "count")
