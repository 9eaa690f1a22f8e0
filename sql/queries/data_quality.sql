-- data_quality: Gaps in the dumps, which limit other queries.
--
-- One row per problem that a build of a model on a device has, in any of its dumps:
-- no events; flagged events (no percentile counts them); incomplete runs (without a
-- Method::execute, or with a flagged event, unless they only load); few runs (not 25
-- complete ones of a run signature, so that no comparison takes the dump); runs of two
-- lengths (they look alike, and are told apart as '(long)' and '(short)'); unknown
-- clock rate (no times in nanoseconds); coarse clock (it steps in 1 us or more, and its
-- ticks are finer: times are known to a step only); no capture time (outside of any
-- --since or --until); implausible time (of capture or commit: before 2020, or more
-- than a day after the ingest; a build's order does not depend on such a recording);
-- clock out of line (recorded more than 30 days before or after the median of the
-- build's devices, and more than a day before the ingest); time without zone (of
-- capture or commit: it is read as UTC); unordered build (neither ordinal nor commit
-- time: without parents, builds come in the order of their recordings); conflicting
-- build (the dump states another commit, branch, ordinal, parent or role of it than the
-- first ingested dumps, or than the alphabetically first of those ingested together);
-- unknown environment (no firmware, governor, threads nor temperature); no ETRecord (no
-- modules); events gone (dropped to save space: rollups are left); unknown units (of
-- what a delegate logs, which may be time or not: no query converts it); unclassified
-- time (events of kind other take more than 5 % of Method::execute in complete runs:
-- what they take outside of kernels and delegate calls counts as framework tax).
--
-- filters: chosen_dumps
--
-- portions: device
--
-- next: ingest_errors, dumps
--
-- columns:
--   device, model, backend, build
--   problem     STRING  Name of the problem, see above.
--   dump_count  BIGINT  Dumps with the problem, at least 1.
--   of_count    BIGINT  Dumps of the build of the model on the device.
--   dump_share  DOUBLE  dump_count over of_count, 0 to 1; lower is better.
--   example     STRING  SHA-256 of one of them, hex.
WITH signatures AS (
    SELECT
        l.run_signature_id,
        count(CASE WHEN s.kind = 'load' THEN 1 END) > 0
            AND count(CASE
                WHEN s.kind IN ('method', 'operator_call', 'kernel', 'delegate_call')
                    THEN 1
            END) = 0 AS is_loading,
        count(CASE WHEN s.unit = 'unknown' THEN 1 END) > 0 AS is_unknown
    FROM (
        SELECT run_signature_id, explode(events) AS event_signature_id
        FROM run_signatures
    ) AS l
    JOIN event_signatures AS s ON s.event_signature_id = l.event_signature_id
    GROUP BY l.run_signature_id
),
complete AS (
    SELECT
        dump_id, max(run_count) AS most_runs, sum(execute_ticks) AS execute_ticks
    FROM (
        SELECT
            t.dump_id, t.run_signature_id, count(*) AS run_count,
            sum(t.execute_ticks) AS execute_ticks
        FROM run_totals AS t
        WHERE t.dump_id IN (SELECT dump_id FROM chosen_dumps)
        GROUP BY t.dump_id, t.run_signature_id
    ) AS c
    GROUP BY dump_id
),
recorded AS (
    SELECT
        r.dump_id, count(g.length) > 0 AS has_two_lengths,
        count(CASE WHEN s.is_unknown THEN 1 END) > 0 AS has_unknown_units,
        count(CASE
            WHEN t.dump_id IS NULL AND r.n_events > 0
                AND NOT coalesce(s.is_loading, FALSE)
                THEN 1
        END) > 0 AS has_incomplete_runs
    FROM runs AS r
    LEFT JOIN run_signatures AS g ON g.run_signature_id = r.run_signature_id
    LEFT JOIN signatures AS s ON s.run_signature_id = r.run_signature_id
    LEFT JOIN run_totals AS t ON t.dump_id = r.dump_id AND t.run_index = r.run_index
    WHERE r.dump_id IN (SELECT dump_id FROM chosen_dumps)
    GROUP BY r.dump_id
),
unclassified AS (
    SELECT t.dump_id, sum(t.total_ticks) AS total_ticks
    FROM event_totals AS t
    JOIN event_signatures AS s ON s.event_signature_id = t.event_signature_id
    WHERE s.kind = 'other' AND s.unit IS NULL
        AND t.dump_id IN (SELECT dump_id FROM chosen_dumps)
    GROUP BY t.dump_id
),
facts AS (
    SELECT
        d.sha256, d.device, d.model, d.backend, d.build, d.of_count, p.problem,
        CASE p.problem
            WHEN 'no events' THEN d.n_events = 0
            WHEN 'flagged events' THEN d.n_flagged_events > 0
            WHEN 'incomplete runs' THEN r.has_incomplete_runs
            WHEN 'few runs' THEN coalesce(c.most_runs, 0) < 25
            WHEN 'runs of two lengths' THEN r.has_two_lengths
            WHEN 'unknown clock rate'
                THEN d.ns_per_tick IS NULL OR d.delegate_ns_per_tick IS NULL
            WHEN 'coarse clock'
                THEN d.resolution_ticks > 1
                    AND d.resolution_ticks * d.ns_per_tick >= 1e3
            WHEN 'no capture time' THEN d.captured_at IS NULL
            WHEN 'implausible time'
                THEN NOT is_plausible(d.captured_at, d.ingested_at)
                OR NOT is_plausible(d.committed_at, d.ingested_at)
            WHEN 'clock out of line' THEN is_out_of_line(d, o)
            WHEN 'time without zone'
                THEN substr(get_json_object(t.manifest, '$.captured_at'), -6, 3)
                    <> '+00'
                OR substr(get_json_object(t.manifest, '$.build.committed_at'), -6, 3)
                    <> '+00'
            WHEN 'unordered build'
                THEN d.build_ordinal IS NULL AND d.committed_at IS NULL
            WHEN 'conflicting build'
                THEN get_json_object(t.manifest, '$.build.commit') <> d.commit
                OR get_json_object(t.manifest, '$.build.branch') <> d.branch
                OR get_json_object(t.manifest, '$.build.ordinal')
                    <> CAST(d.build_ordinal AS STRING)
                OR get_json_object(t.manifest, '$.build.parent') <> d.build_parent
                OR get_json_object(t.manifest, '$.build.role') <> d.build_role
            WHEN 'unknown environment'
                THEN coalesce(
                    d.firmware, d.governor, CAST(d.threads AS STRING),
                    CAST(d.temperature_c AS STRING)
                ) IS NULL
            WHEN 'no ETRecord' THEN t.etrecord_id IS NULL
            WHEN 'unknown units' THEN r.has_unknown_units
            WHEN 'unclassified time' THEN 20 * n.total_ticks > c.execute_ticks
            ELSE g.dump_id IS NOT NULL
        END AS is_so
    FROM (
        SELECT
            *, count(*) OVER (PARTITION BY device, model, backend, build) AS of_count
        FROM named_dumps
        WHERE dump_id IN (SELECT dump_id FROM chosen_dumps)
    ) AS d
    JOIN dumps AS t ON t.dump_id = d.dump_id
    LEFT JOIN build_order AS o ON o.build_id = t.build_id
    LEFT JOIN complete AS c ON c.dump_id = d.dump_id
    LEFT JOIN recorded AS r ON r.dump_id = d.dump_id
    LEFT JOIN dropped_events AS g ON g.dump_id = d.dump_id
    LEFT JOIN unclassified AS n ON n.dump_id = d.dump_id
    CROSS JOIN (
        VALUES ('no events'), ('flagged events'), ('incomplete runs'), ('few runs'),
            ('runs of two lengths'), ('unknown clock rate'), ('coarse clock'),
            ('no capture time'), ('implausible time'), ('clock out of line'),
            ('time without zone'), ('unordered build'), ('conflicting build'),
            ('unknown environment'), ('no ETRecord'), ('events gone'),
            ('unknown units'), ('unclassified time')
    ) AS p (problem)
)
SELECT
    device, model, backend, build, problem, count(*) AS dump_count,
    max(of_count) AS of_count,
    count(*) / CAST(max(of_count) AS DOUBLE) AS dump_share, min(sha256) AS example
FROM facts
WHERE is_so
GROUP BY device, model, backend, build, problem
ORDER BY device, model, backend NULLS LAST, build, problem
