-- op_type_history: Each type of operator over the builds, on each device.
--
-- A type is a kernel without its overload, or a delegate's own operator (by its name,
-- else its delegate id) without its number; a delegate call, which includes the
-- delegate's operators, is a type of its own. Times and calls are per complete run
-- (with a Method::execute and without a flagged event). Builds are ordered by their
-- ordinals, else by their commit times, else by their first recordings.
--
-- filters: chosen_dumps
--
-- parts: run_names, run_sums
--
-- portions: device
--
-- columns:
--   device, model, backend, run
--   op_type         STRING  The type: addmm, Convolution (NHWC), DELEGATE_CALL.
--   kind            STRING  kernel, delegate_call or delegate_op.
--   build, build_ordinal, committed_at, first_captured_at
--   dump_count      BIGINT  Dumps with complete runs, at least 1.
--   run_count       BIGINT  Complete runs in them.
--   operator_count  BIGINT  Operators of the type in the program.
--   run_calls       DOUBLE  Calls of them per run.
--   run_ns          DOUBLE  Time in them per run, nanoseconds; null in cycles of
--                           unknown rate; lower is better.
--   time_share      DOUBLE  Time in them over Method::execute, 0 to 1.
--   change          DOUBLE(change)  run_ns against the build before that has the type,
--                           as a share: 0.05 is 5 % slower; null for the first.
WITH runs_of_build AS (
    SELECT
        d.device, d.model, d.backend, s.run, d.build,
        count(*) AS dump_count, CAST(sum(s.run_count) AS BIGINT) AS run_count,
        whole_sum(s.execute_ns) AS execute_ns
    FROM run_sums AS s
    JOIN chosen_dumps AS d ON d.dump_id = s.dump_id
    GROUP BY d.device, d.model, d.backend, s.run, d.build
),
typed AS (
    SELECT
        dump_id, run_signature_id, chain_index, instruction_id, delegate_id, kind,
        event_count, total_ns, coalesce(op_type, event_name) AS op_type
    FROM complete_run_totals
    WHERE kind IN ('kernel', 'delegate_call', 'delegate_op')
),
times AS (
    SELECT
        d.device, d.model, d.backend, n.run, d.build, t.op_type, t.kind,
        count(DISTINCT (
            t.chain_index, coalesce(t.instruction_id, -1), coalesce(t.delegate_id, '')
        )) AS operator_count,
        CAST(sum(t.event_count) AS DOUBLE) AS call_count,
        whole_sum(t.total_ns) AS total_ns
    FROM typed AS t
    JOIN chosen_dumps AS d ON d.dump_id = t.dump_id
    JOIN run_names AS n
        ON n.dump_id = t.dump_id AND n.run_signature_id = t.run_signature_id
    GROUP BY d.device, d.model, d.backend, n.run, d.build, t.op_type, t.kind
),
series AS (
    SELECT
        t.*, r.dump_count, r.run_count, r.execute_ns,
        t.total_ns / r.run_count AS run_ns,
        b.position, b.build_ordinal, b.committed_at, b.first_captured_at
    FROM times AS t
    JOIN runs_of_build AS r ON same_family(r, t) AND r.build = t.build AND r.run = t.run
    JOIN builds_in_order AS b ON b.build = t.build
)
SELECT
    device, model, backend, run, op_type, kind, build,
    build_ordinal, committed_at, first_captured_at,
    dump_count, run_count, operator_count, call_count / run_count AS run_calls,
    run_ns, part_of(total_ns, execute_ns) AS time_share,
    run_ns / nullif(
        lag(run_ns) OVER (
            PARTITION BY device, model, backend, run, op_type, kind ORDER BY position
        ), 0e0
    ) - 1 AS change
FROM series
ORDER BY device, model, backend NULLS LAST, run, op_type, kind, position
