-- environment_changes: Changes around the code between two builds, by model.
--
-- A change of time that coincides with a change here need not be due to the code.
-- Models are compared that have dumps of both builds on a device; a change around one
-- model does not concern other models. There is one row per device, model, backend and
-- attribute in the manifests: os, os_version, firmware, governor, threads and
-- temperature. The temperature is the median of a build's dumps in whole degrees
-- Celsius, and has changed if the medians are at least 5 degrees apart.
--
-- Verdicts: unknown (no dump of one of the builds states it), changed (one build has a
-- value that the other has not), varies (the same values in both, but several),
-- unchanged.
--
-- filters: compared_dumps
--
-- portions: device
--
-- next: run_shifts
--
-- columns:
--   device, model, backend
--   attribute   STRING  os, os_version, firmware, governor, threads or temperature.
--   base_count  BIGINT  Dumps of the base that state it.
--   head_count  BIGINT  Dumps of the head that state it.
--   base        STRING  Values in the base's dumps: '14', '14, 15', '13, ..., 15'; null
--                       if unknown.
--   head        STRING  Values in the head's dumps, likewise; null if unknown.
--   verdict
WITH stated AS (
    -- No CASE over the columns: it would pick another one's dictionary in every chunk,
    -- which DuckDB 2.0 does not survive.
    SELECT p.device, p.model, p.backend, p.is_head, s.*
    FROM compared_dumps AS p
    JOIN (
        SELECT dump_id, 'os' AS attribute, os AS value, CAST(NULL AS DOUBLE) AS celsius
        FROM named_dumps
        UNION ALL
        SELECT dump_id, 'os_version', os_version, NULL FROM named_dumps
        UNION ALL
        SELECT dump_id, 'firmware', firmware, NULL FROM named_dumps
        UNION ALL
        SELECT dump_id, 'governor', governor, NULL FROM named_dumps
        UNION ALL
        SELECT dump_id, 'threads', CAST(threads AS STRING), NULL FROM named_dumps
        UNION ALL
        SELECT dump_id, 'temperature', NULL, temperature_c FROM named_dumps
    ) AS s ON s.dump_id = p.dump_id
),
-- The temperature becomes one value per build and model.
facts AS (
    SELECT
        device, model, backend, attribute, is_head,
        CASE WHEN attribute = 'temperature' THEN median(celsius) END AS celsius,
        count(coalesce(value, CAST(celsius AS STRING))) AS n,
        count(DISTINCT value) AS value_count, min(value) AS low, max(value) AS high
    FROM stated
    GROUP BY device, model, backend, attribute, is_head
),
texts AS (
    SELECT
        *,
        CASE
            WHEN celsius IS NOT NULL THEN CAST(CAST(round(celsius) AS INT) AS STRING)
            WHEN value_count <= 1 THEN low
            WHEN value_count = 2 THEN low || ', ' || high
            ELSE low || ', ..., ' || high
        END AS shown
    FROM facts
),
-- Values that only one of the builds has.
lone AS (
    SELECT device, model, backend, attribute, count(*) AS n
    FROM (
        SELECT device, model, backend, attribute, value
        FROM stated
        WHERE value IS NOT NULL
        GROUP BY device, model, backend, attribute, value
        HAVING min(is_head) = max(is_head)
    ) AS v
    GROUP BY device, model, backend, attribute
)
SELECT
    b.device, b.model, b.backend, b.attribute,
    b.n AS base_count, h.n AS head_count,
    b.shown AS base, h.shown AS head,
    CASE
        WHEN b.n = 0 OR h.n = 0 THEN 'unknown'
        WHEN l.n > 0 OR reaches(abs(h.celsius - b.celsius), 5) THEN 'changed'
        WHEN b.value_count > 1 THEN 'varies'
        ELSE 'unchanged'
    END AS verdict
FROM texts AS b
JOIN texts AS h ON same_family(h, b) AND h.attribute = b.attribute
LEFT JOIN lone AS l ON same_family(l, b) AND l.attribute = b.attribute
WHERE b.is_head = 0 AND h.is_head = 1
ORDER BY b.device, b.model, b.backend NULLS LAST, b.attribute
