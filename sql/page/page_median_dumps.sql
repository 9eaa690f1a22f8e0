-- page_median_dumps: The dump of each chosen build with the median time of a run.
--
-- Of an even number of dumps, the lower middle one counts.
--
-- filters: chosen_operators
--
-- columns:
--   build, dump_id, sha256, device
SELECT build, dump_id, sha256, device
FROM (
    SELECT
        o.build, o.dump_id, d.sha256, o.device,
        row_number() OVER (
            PARTITION BY o.build ORDER BY coalesce(o.value_ns, o.p50_ns), o.dump_id
        ) AS position,
        count(*) OVER (PARTITION BY o.build) AS dump_count
    FROM chosen_operators AS o
    JOIN named_dumps AS d ON d.dump_id = o.dump_id
    WHERE o.kind = 'method' AND o.p50_ns IS NOT NULL
) AS ranked
WHERE 2 * position IN (dump_count, dump_count + 1)
ORDER BY build
