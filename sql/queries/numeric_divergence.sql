-- numeric_divergence: The first value in which two builds differ, on each device.
--
-- Of each build, the latest dump with logged intermediate values counts. Its runs with
-- values are compared in order, value by value in the order of execution: tensors by
-- their bytes, scalars as they are. Operators are matched by name, delegate id and
-- ordinal, as in regression_deltas. All values before the one shown are equal bit by
-- bit. `tracehouse numeric-gap BASE_DUMP_ID HEAD_DUMP_ID --first` shows by how much it
-- differs, and whether within a tolerance.
--
-- params:
--   event
--
-- filters: compared_dumps
--
-- parts: logged_dumps, logged_values, value_pairs
--
-- portions: device
--
-- columns:
--   device, model, backend
--   base_dumps      BIGINT  Dumps of the base that logged values, at least 1.
--   head_dumps      BIGINT  Dumps of the head that logged values, at least 1.
--   base_dump_id    BIGINT  The latest such dump of the base.
--   head_dump_id    BIGINT  The latest such dump of the head.
--   base_count      BIGINT  Values in the base's dump.
--   compared_count  BIGINT  Values of both dumps, with content in both.
--   equal_count     BIGINT  Compared values that are equal.
--   verdict         STRING  equal, different, or not_compared without compared values.
--   event_name      STRING  Operator of the first value that differs; null if none
--                           does, like all that follow.
--   delegate_id
--   ordinal         INT     Which of the run's instructions of that name and delegate
--                           id, from 1.
--   instruction_id  INT     Its instruction id in the base.
--   run_index       INT     Its run in the base, from 0.
--   value_index     INT     Position among its values in the run, from 0.
WITH counted AS (
    SELECT
        dump_id, count(*) AS base_count,
        count(CASE WHEN is_compared THEN 1 END) AS compared_count,
        count(CASE WHEN is_compared AND is_equal THEN 1 END) AS equal_count
    FROM value_pairs
    GROUP BY dump_id
),
different AS (
    SELECT
        *, row_number() OVER (
            PARTITION BY dump_id
            ORDER BY run_index, event_index, instruction_id, delegate_id, value_index
        ) AS position
    FROM value_pairs
    WHERE is_compared AND NOT is_equal
)
SELECT
    b.device, b.model, b.backend,
    b.dump_count AS base_dumps, h.dump_count AS head_dumps,
    CAST(b.dump_id AS BIGINT) AS base_dump_id,
    CAST(h.dump_id AS BIGINT) AS head_dump_id,
    n.base_count, n.compared_count, n.equal_count,
    CASE
        WHEN n.compared_count = 0 THEN 'not_compared'
        WHEN n.compared_count = n.equal_count THEN 'equal'
        ELSE 'different'
    END AS verdict,
    d.event_name, d.delegate_id, CAST(d.ordinal AS INT) AS ordinal, d.instruction_id,
    d.run_index, CAST(d.value_index AS INT) AS value_index
FROM logged_dumps AS b
JOIN logged_dumps AS h ON h.is_head = 1 AND same_family(h, b)
JOIN counted AS n ON n.dump_id = b.dump_id
LEFT JOIN different AS d ON d.dump_id = b.dump_id AND d.position = 1
WHERE b.is_head = 0 AND is_chosen(:event, d.event_name)
ORDER BY b.device, b.model, b.backend NULLS LAST
