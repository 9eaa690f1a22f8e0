-- run_nodes: The program nodes of each operator of a run.
--
-- Reads program_nodes and run_steps. Several instructions can share a debug handle, and
-- so can several nodes, but each node is run by one instruction. A kernel runs a node
-- of its own name. A delegate call runs as many nodes as its list of handles has
-- entries: those that the names of its events mention, then the remaining ones in the
-- order of the graph. If the numbers do not agree, all nodes count in equal parts, as
-- they do for events inside a delegate that share a handle.
--
-- columns:
--   etrecord_id
--   method              STRING  Method of the program: each that the run can be of.
--   run_signature_id
--   event_signature_id  BIGINT  Signature of the kernel, call or event in a delegate.
--   scope, node_index
--   share               DOUBLE  How much of the node counts for the event, 0 to 1.
WITH steps AS (
    SELECT DISTINCT
        etrecord_id, method, run_signature_id, instruction_id, handle, operator,
        entry_count, is_shared
    FROM run_steps
),
-- What events inside delegates name.
spoken AS (
    SELECT
        o.etrecord_id, o.run_signature_id, s.instruction_id,
        split_part(s.event_name, ' ', 1) AS word, count(*) AS event_count
    FROM event_origins AS o
    JOIN named_event_signatures AS s ON s.event_signature_id = o.event_signature_id
    WHERE s.kind = 'delegate_op'
    GROUP BY
        o.etrecord_id, o.run_signature_id, s.instruction_id,
        split_part(s.event_name, ' ', 1)
),
-- Nodes of each word that an instruction is known to run. Of two shared handles in one
-- instruction, names do not tell which they are of.
claims AS (
    SELECT
        s.*, n.word, n.word_count,
        CASE
            WHEN s.operator IS NOT NULL THEN 1
            WHEN NOT s.is_shared THEN n.word_count
            WHEN count(CASE WHEN s.is_shared THEN 1 END) OVER of_word = 1
                THEN greatest(coalesce(w.event_count, 0) - sum(
                    CASE WHEN s.is_shared THEN 0 ELSE n.word_count END
                ) OVER of_word, 0)
            ELSE 0
        END AS slot_count
    FROM steps AS s
    JOIN (
        SELECT etrecord_id, method, handle, operator, word, word_count
        FROM program_nodes
        UNION
        SELECT
            etrecord_id, method, handle, CAST(NULL AS STRING) AS operator, word,
            word_count
        FROM program_nodes
    ) AS n
        ON n.etrecord_id = s.etrecord_id AND n.method = s.method
        AND n.handle = s.handle AND n.operator IS NOT DISTINCT FROM s.operator
    LEFT JOIN spoken AS w
        ON w.etrecord_id = s.etrecord_id AND w.run_signature_id = s.run_signature_id
        AND w.instruction_id = s.instruction_id AND w.word = n.word
    WINDOW of_word AS (
        PARTITION BY
            s.etrecord_id, s.method, s.run_signature_id, s.instruction_id, s.operator,
            n.word
    )
),
placed AS (
    SELECT
        *, sum(slot_count) OVER of_handle = word_count AS is_known,
        sum(CASE WHEN operator IS NULL THEN 0 ELSE 1 END) OVER of_handle
            AS kernel_count,
        sum(slot_count) OVER (
            PARTITION BY etrecord_id, method, run_signature_id, handle, word
            ORDER BY instruction_id, operator
            ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
        ) AS last_place
    FROM claims
    WINDOW of_handle AS (
        PARTITION BY etrecord_id, method, run_signature_id, handle, word
    )
),
-- Of the rest: how many nodes a call has left, and which nodes these can be.
calls AS (
    SELECT
        *, sum(slot_count) OVER (
            PARTITION BY etrecord_id, method, run_signature_id, handle
            ORDER BY instruction_id
            ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
        ) AS last_place,
        sum(slot_count) OVER (
            PARTITION BY etrecord_id, method, run_signature_id, handle
        ) AS total
    FROM (
        SELECT
            etrecord_id, method, run_signature_id, instruction_id, handle,
            greatest(max(entry_count) - sum(
                CASE WHEN is_known THEN slot_count ELSE 0 END
            ), 0) AS slot_count
        FROM placed
        WHERE operator IS NULL
        GROUP BY etrecord_id, method, run_signature_id, instruction_id, handle
    ) AS c
),
rest AS (
    SELECT
        *, count(*) OVER of_handle AS node_count,
        sum(plain) OVER of_handle AS plain_count,
        max(kernel_count) OVER of_handle AS doubtful_count,
        max(plain * kernel_count) OVER of_handle AS plain_doubtful_count,
        row_number() OVER (
            PARTITION BY etrecord_id, method, run_signature_id, handle
            ORDER BY scope, node_index
        ) AS place,
        sum(plain) OVER (
            PARTITION BY etrecord_id, method, run_signature_id, handle
            ORDER BY scope, node_index
            ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
        ) AS plain_place
    FROM (
        SELECT
            p.*, n.scope, n.node_index, CASE WHEN n.is_view THEN 0 ELSE 1 END AS plain
        FROM program_nodes AS n
        JOIN (
            SELECT DISTINCT
                etrecord_id, method, run_signature_id, handle, word, word_count,
                kernel_count
            FROM placed
            WHERE NOT is_known
        ) AS p
            ON p.etrecord_id = n.etrecord_id AND p.method = n.method
            AND p.handle = n.handle AND p.word = n.word
    ) AS n
    WINDOW of_handle AS (PARTITION BY etrecord_id, method, run_signature_id, handle)
),
step_nodes AS (
    SELECT
        p.etrecord_id, p.method, p.run_signature_id, p.instruction_id, p.operator,
        p.handle, n.scope, n.node_index,
        CASE WHEN p.is_known THEN 1e0 ELSE 1e0 / n.alike_count END AS share
    FROM placed AS p
    JOIN program_nodes AS n
        ON n.etrecord_id = p.etrecord_id AND n.method = p.method
        AND n.handle = p.handle AND n.word = p.word
    WHERE (p.is_known AND n.word_place <= p.last_place
            AND n.word_place > p.last_place - p.slot_count)
        OR (NOT p.is_known AND n.operator = p.operator)
    UNION ALL
    SELECT
        c.etrecord_id, c.method, c.run_signature_id, c.instruction_id,
        CAST(NULL AS STRING) AS operator, c.handle, n.scope, n.node_index,
        CASE
            WHEN n.doubtful_count = 0 AND c.total = n.node_count THEN CASE
                WHEN n.place <= c.last_place AND n.place > c.last_place - c.slot_count
                    THEN 1e0
            END
            WHEN n.plain_doubtful_count = 0 AND c.total = n.plain_count THEN CASE
                WHEN n.plain = 1 AND n.plain_place <= c.last_place
                    AND n.plain_place > c.last_place - c.slot_count
                    THEN 1e0
            END
            ELSE greatest(n.word_count - n.kernel_count, 0e0) / n.word_count
                * c.slot_count / nullif(c.total, 0e0)
        END AS share
    FROM calls AS c
    JOIN rest AS n
        ON n.etrecord_id = c.etrecord_id AND n.method = c.method
        AND n.run_signature_id = c.run_signature_id AND n.handle = c.handle
)
SELECT
    e.etrecord_id, e.method, e.run_signature_id, e.event_signature_id, n.scope,
    n.node_index, max(n.share / e.event_count) AS share
FROM (
    SELECT
        *, CASE
            WHEN kind = 'delegate_op' THEN CAST(count(*) OVER (
                PARTITION BY
                    etrecord_id, method, run_signature_id, instruction_id, kind, handle
            ) AS DOUBLE)
            ELSE 1e0
        END AS event_count
    FROM run_steps
) AS e
JOIN step_nodes AS n
    ON n.etrecord_id = e.etrecord_id AND n.method = e.method
    AND n.run_signature_id = e.run_signature_id
    AND n.instruction_id = e.instruction_id AND n.handle = e.handle
    AND n.operator IS NOT DISTINCT FROM e.operator
WHERE n.share > 0
GROUP BY
    e.etrecord_id, e.method, e.run_signature_id, e.event_signature_id, n.scope,
    n.node_index
