-- logged_dumps: The latest dump that logged values, of each build on each device.
--
-- The latest dump is the last recorded one, else the last to arrive. Reads
-- compared_dumps.
--
-- columns:
--   dump_id, device, model, backend, is_head
--   dump_count  BIGINT  Dumps of its build that logged values there, at least 1.
SELECT dump_id, device, model, backend, is_head, dump_count
FROM (
    SELECT
        c.dump_id, c.device, c.model, c.backend, c.is_head,
        count(*) OVER (PARTITION BY c.device, c.model, c.backend, c.is_head)
            AS dump_count,
        row_number() OVER (
            PARTITION BY c.device, c.model, c.backend, c.is_head
            ORDER BY d.captured_at DESC NULLS LAST, d.ingested_at DESC NULLS LAST,
                d.sha256 DESC NULLS LAST
        ) AS choice
    FROM compared_dumps AS c
    JOIN dumps AS d ON d.dump_id = c.dump_id
    WHERE c.dump_id IN (SELECT dump_id FROM debug_values WHERE NOT is_output)
) AS d
WHERE choice = 1
