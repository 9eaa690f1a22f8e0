-- event_blocks: Rows of ExecuTorch's Inspector for one dump, in file order.
--
-- Names are the Inspector's: a delegated event has its delegate id as name; another
-- event has the name of its logged value, if any. All events of a signature count as
-- samples, also those that repeat within a run, but no flagged events. Values that a
-- delegate logs in its own unit, even if that is not a time, are shown as in the
-- Inspector: as if they were ticks of the dump's clock.
--
-- params:
--   dump  BIGINT OF dumps.dump_id  Number of the dump, its dump_id.
--   event
--
-- next: run_timeline
--
-- columns:
--   block_index          INT      Position of the block among the dump's blocks, from
--                                 0.
--   block_name           STRING   Name of the block's runs; null if they have none.
--   bundled_input_index  INT      Index of the bundled input; -1 if absent.
--   event_index          INT      Position of the event in its block, from 0.
--   event_name           STRING   Name of the event; '' without any.
--   instruction_id, delegate_id
--   is_delegated_op      BOOLEAN  Whether the event has a delegate id.
--   sample_count         BIGINT   Events counted; 0 for logged values without timing.
--   p10_ns               DOUBLE   10th percentile in nanoseconds; null without samples
--                                 or in cycles of unknown rate, like all that follow;
--                                 lower is better.
--   p50_ns               DOUBLE   Median.
--   p90_ns
--   avg_ns               DOUBLE   Mean.
--   min_ns               DOUBLE   Shortest.
--   max_ns               DOUBLE   Longest.
WITH runs_of_dump AS (
    SELECT run_index, run_signature_id
    FROM runs
    WHERE dump_id = CAST(:dump AS BIGINT) AND run_signature_id IS NOT NULL
),
-- The Inspector knows no lengths: long and short runs that look alike are one block.
signatures AS (
    SELECT
        run_signature_id, min(run_signature_id) OVER (
            PARTITION BY name, bundled_input_index, events
        ) AS block_id
    FROM run_signatures
    WHERE run_signature_id IN (SELECT run_signature_id FROM runs_of_dump)
),
blocks AS (
    SELECT
        s.block_id, row_number() OVER (ORDER BY min(r.run_index)) - 1 AS block_index
    FROM runs_of_dump AS r
    JOIN signatures AS s ON s.run_signature_id = r.run_signature_id
    GROUP BY s.block_id
),
samples AS (
    SELECT
        block_id, event_signature_id,
        count(CASE WHEN flags <= 1 THEN 1 END) AS sample_count,
        percentile_cont(0.1) WITHIN GROUP (ORDER BY duration_ns) AS p10_ns,
        percentile_cont(0.5) WITHIN GROUP (ORDER BY duration_ns) AS p50_ns,
        percentile_cont(0.9) WITHIN GROUP (ORDER BY duration_ns) AS p90_ns,
        exact_sum(duration_ns) / count(duration_ns) AS avg_ns,
        min(duration_ns) AS min_ns,
        max(duration_ns) AS max_ns
    FROM (
        SELECT
            g.block_id, e.event_signature_id, e.flags,
            CASE
                WHEN s.unit IS NOT NULL AND e.flags <= 1
                    THEN e.duration_ticks * d.ns_per_tick
                WHEN e.flags <= 1 THEN e.duration_ticks * tick_ns(s, d)
            END AS duration_ns
        FROM events AS e
        JOIN dumps AS d ON d.dump_id = e.dump_id
        JOIN named_event_signatures AS s
            ON s.event_signature_id = e.event_signature_id
        JOIN signatures AS g ON g.run_signature_id = e.run_signature_id
        WHERE e.dump_id = CAST(:dump AS BIGINT)
    ) AS e
    GROUP BY block_id, event_signature_id
)
SELECT
    CAST(b.block_index AS INT) AS block_index,
    g.name AS block_name, g.bundled_input_index,
    CAST(array_position(g.events, s.event_signature_id) - 1 AS INT) AS event_index,
    coalesce(n.delegate_id, nullif(s.debug_name, ''), s.name) AS event_name,
    s.instruction_id, n.delegate_id, n.delegate_id IS NOT NULL AS is_delegated_op,
    coalesce(t.sample_count, 0) AS sample_count,
    t.p10_ns, t.p50_ns, t.p90_ns, t.avg_ns, t.min_ns, t.max_ns
FROM blocks AS b
JOIN run_signatures AS g ON g.run_signature_id = b.block_id
JOIN event_signatures AS s ON array_contains(g.events, s.event_signature_id)
JOIN named_event_signatures AS n ON n.event_signature_id = s.event_signature_id
LEFT JOIN samples AS t
    ON t.block_id = b.block_id
    AND t.event_signature_id = s.event_signature_id
WHERE is_chosen(:event, n.event_name)
ORDER BY block_index, event_index
