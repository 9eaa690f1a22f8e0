-- operator_stats: Statistics per dump and operator, keyed so as to hold across builds.
--
-- An operator is the same in two builds if event_name, delegate_id and ordinal are:
-- instruction ids shift when an operator is inserted. The ordinal counts the
-- instructions of a build's model that carry the same name and delegate id, over all
-- its dumps. Where a dump has several signatures of one operator (some runs logged
-- values, some did not), the row is that of the signature with the most events after
-- warm-up.
--
-- columns:
--   dump_id             INT        Dump the events were recorded in.
--   captured_at         TIMESTAMP  Time of recording of the dump; null if unknown.
--   device              STRING     Name of the device.
--   pool                STRING     Device pool; null if none.
--   build               STRING     Id of the build.
--   model               STRING     Name of the model.
--   backend             STRING     Backend of the model; null if none.
--   event_name          STRING     Name of the operator, else its delegate id.
--   delegate_id         STRING     Delegate debug id; null outside delegates.
--   ordinal             INT        1 for the first instruction of that name and
--                                  delegate id in the build, then 2, ...
--   instruction_id      INT        Instruction id in this build; null outside the
--                                  program.
--   kind                STRING     Kind of the events.
--   event_signature_id  BIGINT     Signature of the events.
--   sample_count        BIGINT     Events counted (flagged ones left out), at least 1.
--   p50_ns              DOUBLE     Median; null in cycles of unknown rate, like the
--                                  times that follow.
--   steady_count        BIGINT     Events after warm-up (from the signature's sixth run
--                                  on).
--   steady_p50_ns       DOUBLE     Median after warm-up; null without such events.
--   value_ns            DOUBLE     The dump's value in comparisons: steady_p50_ns if at
--                                  least 20 events are left, else null.
--   floor_ns            DOUBLE     Least time that can be compared: 10 ticks of the
--                                  clock that timed the events, at least 1 us.
SELECT
    t.dump_id, t.captured_at, t.device, t.pool, t.build, t.model, t.backend,
    t.event_name, t.delegate_id, CAST(t.ordinal AS INT) AS ordinal, t.instruction_id,
    t.kind, t.event_signature_id,
    t.sample_count, t.p50_ns, t.steady_count, t.steady_p50_ns,
    CASE WHEN t.steady_count >= 20 THEN t.steady_p50_ns END AS value_ns,
    CASE WHEN t.resolution_ns > 100 THEN 10 * t.resolution_ns ELSE 1e3 END AS floor_ns
FROM (
    SELECT
        s.*,
        dense_rank() OVER (
            PARTITION BY build, model, backend, event_name, delegate_id
            ORDER BY instruction_id NULLS LAST
        ) AS ordinal,
        row_number() OVER (
            PARTITION BY
                build, model, backend, event_name, delegate_id, instruction_id, dump_id
            ORDER BY steady_count DESC, sample_count DESC, event_signature_id
        ) AS choice
    FROM named_event_stats AS s
) AS t
WHERE t.choice = 1
