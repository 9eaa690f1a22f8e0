-- allocating_events: The profile event that each allocation was made in.
--
-- Reads grouped_dumps. An allocation belongs to the next profile event of its run in
-- the file, for a profile event is recorded when it ends. The order of the file is that
-- of the run's signature, whatever the clock says; repetitions of an event in a run are
-- placed by the ticks at which they end.
--
-- columns:
--   dump_id, run_index
--   event_index     INT     Position of the allocation in its run, from 0.
--   instruction_id  INT     Instruction id; null outside the program, and if no event
--                           follows.
--   event_name      STRING  Kernel or call of the instruction, else the event's name;
--                           null if none follows.
WITH unprofiled AS (
    SELECT dump_id, run_index, event_index
    FROM allocations
    WHERE dump_id IN (SELECT dump_id FROM grouped_dumps)
    UNION
    SELECT dump_id, run_index, event_index
    FROM debug_values
    WHERE dump_id IN (SELECT dump_id FROM allocations)
        AND dump_id IN (SELECT dump_id FROM grouped_dumps)
),
-- Which of the run's profile events is the next.
followed AS (
    SELECT
        dump_id, run_index, event_index,
        event_index + 2 - row_number() OVER (
            PARTITION BY dump_id, run_index ORDER BY event_index
        ) AS next_place
    FROM unprofiled
),
-- Where in a run each signature is first recorded: signatures list an instruction at
-- its first event, so what a method logs before it runs would draw it to the front.
first_places AS (
    SELECT
        s.run_signature_id, s.event_signature_id,
        CASE
            WHEN e.kind = 'method' THEN 2147483647
            ELSE array_position(g.events, s.event_signature_id)
        END AS place
    FROM (
        SELECT DISTINCT run_signature_id, event_signature_id
        FROM events
        WHERE dump_id IN (SELECT dump_id FROM followed)
    ) AS s
    JOIN run_signatures AS g ON g.run_signature_id = s.run_signature_id
    JOIN event_signatures AS e ON e.event_signature_id = s.event_signature_id
),
-- A delegate's operators end with its call: their own clock may be another one.
ended AS (
    SELECT
        e.dump_id, e.run_index, e.occurrence, e.duration_ticks, p.place,
        CASE WHEN e.chain_index >= 0 THEN s.instruction_id END AS instruction_id,
        s.kind = 'delegate_op' OR s.unit IS NOT NULL AS is_inner, e.end_ticks,
        max(CASE WHEN s.kind = 'delegate_call' THEN e.end_ticks END) OVER step
            AS call_end_ticks,
        coalesce(max(CASE
            WHEN s.kind IN ('kernel', 'delegate_call') THEN s.event_name
        END) OVER step, s.event_name) AS event_name
    FROM (
        SELECT
            *, CAST(start_offset_ticks AS DOUBLE) + duration_ticks AS end_ticks
        FROM events
        WHERE dump_id IN (SELECT dump_id FROM followed)
    ) AS e
    JOIN named_event_signatures AS s ON s.event_signature_id = e.event_signature_id
    JOIN first_places AS p ON same_event(p, e)
    JOIN (SELECT DISTINCT dump_id, run_index FROM followed) AS f
        ON f.dump_id = e.dump_id AND f.run_index = e.run_index
    WINDOW step AS (
        PARTITION BY
            e.dump_id, e.run_index, e.chain_index, s.instruction_id,
            CASE
                WHEN s.kind = 'delegate_op' OR s.unit IS NOT NULL THEN 0
                ELSE e.occurrence
            END
    )
),
-- The first of each signature ends no earlier than those recorded before it.
timed AS (
    SELECT
        *, CASE
            WHEN occurrence = 0 THEN max(own_end_ticks) OVER (
                PARTITION BY dump_id, run_index, occurrence ORDER BY place
                ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
            )
            ELSE own_end_ticks
        END AS order_ticks,
        max(CASE WHEN occurrence > 0 AND NOT is_inner THEN place ELSE 0 END) OVER (
            PARTITION BY dump_id, run_index
        ) AS last_repeated
    FROM (
        SELECT
            *, CASE
                WHEN is_inner THEN coalesce(call_end_ticks, end_ticks) ELSE end_ticks
            END AS own_end_ticks
        FROM ended
    ) AS e
),
in_order AS (
    SELECT
        dump_id, run_index, instruction_id, event_name,
        row_number() OVER (
            PARTITION BY dump_id, run_index
            ORDER BY
                order_ticks, CASE WHEN place > last_repeated THEN 1 ELSE 0 END,
                CASE WHEN is_inner THEN 0 ELSE occurrence END, place, occurrence
        ) AS place
    FROM timed
)
SELECT f.dump_id, f.run_index, f.event_index, i.instruction_id, i.event_name
FROM followed AS f
LEFT JOIN in_order AS i
    ON i.dump_id = f.dump_id AND i.run_index = f.run_index AND i.place = f.next_place
