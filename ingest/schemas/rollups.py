"""Arrow schemas of the statistics that ingest computes, so that few queries read events."""

from __future__ import annotations

import pyarrow as pa

from tracehouse.ingest.schemas.fields import DUMP_ID, RUN_INDEX, field, table

_SIGNATURE = field("event_signature_id", pa.int64(), "Signature of the events.")
_RUN_SIGNATURE = field("run_signature_id", pa.int64(), "Signature of the runs.")
_CHAIN = field("chain_index", pa.int32(), "Chain of the instruction; -1 outside instructions.")

EVENT_STATS = table(
    "One row per dump, run signature and event signature; flagged events are left out.",
    DUMP_ID,
    _RUN_SIGNATURE,
    _SIGNATURE,
    field("sample_count", pa.int64(), "Events counted, at least 1."),
    field("zero_count", pa.int64(), "Events of duration zero among them."),
    field("min_ticks", pa.int64(), "Shortest duration."),
    field("max_ticks", pa.int64(), "Longest duration."),
    field("sum_ticks", pa.float64(), "Sum of durations."),
    field("p10_ticks", pa.float64(), "10th percentile, linear interpolation."),
    field("p50_ticks", pa.float64(), "Median, linear interpolation."),
    field("p90_ticks", pa.float64(), "90th percentile, linear interpolation."),
    field("p95_ticks", pa.float64(), "95th percentile, linear interpolation."),
    field("p99_ticks", pa.float64(), "99th percentile, linear interpolation."),
    field(
        "steady_count", pa.int64(),
        "Events after warm-up (from the sixth run of the run signature on).",
    ),
    field(
        "steady_p50_ticks", pa.float64(), "Median after warm-up; null without such events.",
        nullable=True,
    ),
    field(
        "steady_grouped_ticks", pa.float64(),
        "Grouped median after warm-up: the median if events of equal ticks are spread evenly over "
        "that tick of the clock; null without such events.",
        nullable=True,
    ),
)  # fmt: skip

EVENT_HISTOGRAMS = table(
    "One row per dump, run signature, event signature and bucket with events in it; flagged events "
    "are left out. Dumps of 200 runs or more have histograms; shorter dumps have one after their "
    "events are dropped.",
    DUMP_ID,
    _RUN_SIGNATURE,
    _SIGNATURE,
    field(
        "bucket", pa.int32(),
        "b for more than g^(b-1) and up to g^b ticks, where g is 1.01/0.99; -1 for no ticks.",
    ),
    field("event_count", pa.int64(), "Events in the bucket, at least 1."),
)  # fmt: skip

RUN_TOTALS = table(
    "One row per complete run: with a Method::execute and without a flagged event.",
    DUMP_ID,
    RUN_INDEX,
    field("run_signature_id", pa.int64(), "Signature of the run."),
    field("execute_ticks", pa.float64(), "Duration of its Method::execute."),
    field("kernel_ticks", pa.float64(), "Sum over its kernels."),
    field("delegate_ticks", pa.float64(), "Sum over its delegate calls."),
)

EVENT_TOTALS = table(
    "One row per dump, run signature, event signature and chain: sums over complete runs.",
    DUMP_ID,
    _RUN_SIGNATURE,
    _SIGNATURE,
    _CHAIN,
    field("event_count", pa.int64(), "Events summed, at least 1."),
    field("total_ticks", pa.float64(), "Sum of their durations."),
)

ROLLUPS: dict[str, pa.Schema] = {
    "event_stats": EVENT_STATS,
    "event_histograms": EVENT_HISTOGRAMS,
    "run_totals": RUN_TOTALS,
    "event_totals": EVENT_TOTALS,
}
