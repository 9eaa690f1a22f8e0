-- page_comparison: Operators of two builds side by side, on all devices together.
--
-- The value of a device in a build is that of build_history. The test that decides
-- whether a change is real is in the query comparison.
--
-- params:
--   base  STRING OF builds.name  The earlier build.
--   head  STRING OF builds.name  The later build. `build` is to name both, too.
--
-- filters: chosen_operators
--
-- columns:
--   model, backend, run, event_name, delegate_id, ordinal, kind
--   base_ns       DOUBLE  Median of the devices' values in the base, nanoseconds; null
--                         if no device ran it.
--   head_ns       DOUBLE  The same in the head.
--   delta         DOUBLE  Median of the devices' changes, as a share; null if no device
--                         ran it in both.
--   cost_ns       DOUBLE  Median of the devices' differences, head less base.
--   device_count  BIGINT  Devices that ran it in both.
WITH sides AS (
    SELECT
        device, model, backend, run, event_name, delegate_id, ordinal, kind,
        median(CASE WHEN build = CAST(:base AS STRING) THEN known_ns END) AS base_ns,
        median(CASE WHEN build = CAST(:head AS STRING) THEN known_ns END) AS head_ns
    FROM (
        SELECT *, coalesce(value_ns, p50_ns) AS known_ns
        FROM chosen_operators
        WHERE kind NOT IN ('operator_call', 'load', 'delegate_phase')
    ) AS o
    WHERE known_ns IS NOT NULL
    GROUP BY device, model, backend, run, event_name, delegate_id, ordinal, kind
)
SELECT
    model, backend, run, event_name, delegate_id, ordinal, kind,
    median(base_ns) AS base_ns, median(head_ns) AS head_ns,
    median(head_ns / nullif(base_ns, 0e0)) - 1 AS delta,
    median(head_ns - base_ns) AS cost_ns,
    count(CASE WHEN base_ns IS NOT NULL AND head_ns IS NOT NULL THEN 1 END)
        AS device_count
FROM sides
GROUP BY model, backend, run, event_name, delegate_id, ordinal, kind
ORDER BY
    model, backend NULLS LAST, run, event_name, delegate_id NULLS LAST, ordinal, kind
