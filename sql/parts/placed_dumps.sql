-- placed_dumps: The chosen dumps with the place of their rows, and their program.
--
-- Reads grouped_dumps. Dumps that share a row share a place.
--
-- columns:
--   dump_id
--   place_id     BIGINT  Number of its place, from 1, in the order of the next columns.
--   device       STRING  Name of the device; null with group_by.
--   pool         STRING  Device pool; null if none, and with group_by.
--   build, model, backend, group_value
--   etrecord_id  BIGINT  ETRecord of its program; null without.
SELECT
    g.dump_id,
    CAST(dense_rank() OVER (
        ORDER BY
            g.device NULLS LAST, g.pool NULLS LAST, g.build, g.model,
            g.backend NULLS LAST, g.group_value NULLS LAST
    ) AS BIGINT) AS place_id,
    g.device, g.pool, g.build, g.model, g.backend, g.group_value, d.etrecord_id
FROM grouped_dumps AS g
JOIN dumps AS d ON d.dump_id = g.dump_id
