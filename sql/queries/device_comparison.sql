-- device_comparison: The same build on several devices and pools.
--
-- The value of a dump is the grouped median of the event after warm-up (from the sixth
-- run on) if at least 20 events are left, else the median of all its events; the value
-- of a device is the median of its dumps. Dumps in cycles of unknown rate do not count.
--
-- params:
--   event  STRING[] OF named_event_signatures.event_name = NULL  Only events of these
--                   names, e.g. 'native_call_conv*'; Method::execute by default.
--
-- filters: chosen_operators
--
-- portions: model
--
-- next: backend_comparison, device_health
--
-- columns:
--   model, backend, build, run
--   event_name    STRING  Name of the event, else its delegate id.
--   delegate_id, ordinal, device, pool, soc
--   dump_count    BIGINT  Dumps of the device that count, at least 1.
--   p50_ns        DOUBLE  Value of the device, nanoseconds; lower is better, like all
--                         that follow.
--   rank          INT     1 for the fastest device, and for devices equally fast.
--   over_fastest  DOUBLE  Value over the fastest device's, at least 1.
--   pool_ns       DOUBLE  Median of the devices of the pool.
--   over_pool     DOUBLE  Value over that.
WITH values_of_device AS (
    SELECT
        o.model, o.backend, o.build, o.run, o.event_name, o.delegate_id, o.ordinal,
        c.device, c.pool, max(c.soc) AS soc, count(*) AS dump_count,
        median(coalesce(o.value_ns, o.p50_ns)) AS p50_ns
    FROM chosen_operators AS o
    JOIN named_dumps AS c ON c.dump_id = o.dump_id
    WHERE o.p50_ns IS NOT NULL
        AND CASE
            WHEN CAST(:event AS ARRAY<STRING>) IS NULL THEN o.kind = 'method'
            ELSE array_contains(CAST(:event AS ARRAY<STRING>), o.event_name)
        END
    GROUP BY
        o.model, o.backend, o.build, o.run, o.event_name, o.delegate_id, o.ordinal,
        c.device, c.pool
),
compared AS (
    SELECT
        *,
        rank() OVER (
            PARTITION BY model, backend, build, run, event_name, delegate_id, ordinal
            ORDER BY p50_ns
        ) AS place,
        min(p50_ns) OVER (
            PARTITION BY model, backend, build, run, event_name, delegate_id, ordinal
        ) AS fastest_ns,
        median(p50_ns) OVER (
            PARTITION BY
                model, backend, build, run, event_name, delegate_id, ordinal, pool
        ) AS pool_ns
    FROM values_of_device
)
SELECT
    model, backend, build, run, event_name, delegate_id, ordinal,
    device, pool, soc, dump_count, p50_ns, CAST(place AS INT) AS rank,
    p50_ns / nullif(fastest_ns, 0e0) AS over_fastest,
    pool_ns, p50_ns / nullif(pool_ns, 0e0) AS over_pool
FROM compared
ORDER BY
    model, backend NULLS LAST, build, run, event_name, delegate_id NULLS LAST, ordinal,
    device, pool NULLS LAST
