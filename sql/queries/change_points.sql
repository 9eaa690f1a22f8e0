-- change_points: The build since which an operator is slower or faster, on each device.
--
-- Each of the last 8 builds that has a later one is tried as the first of a new level:
-- a two-sided Mann-Whitney test (exact up to 30 dumps a side, else normal) compares the
-- dumps of up to 10 builds before it with the dumps from it on. The build with the
-- largest difference counts. Builds have the order of build_history, and dumps the
-- values of regression_deltas. This takes more nights than a comparison of two builds
-- to find a change, and is more reliable.
--
-- Verdicts, the first that applies: insufficient_data (no difference between so few
-- dumps could reach p = 1e-6, or fewer than 3 builds), below_resolution (the level
-- before is too short for its clock), unchanged (p above 1e-4, or a change below
-- min_change), inconclusive (p above 1e-6: more builds decide; the nightly report
-- may have confirmed it, as it takes modes, shifts of the run and references out), gone
-- (there was a change, but the last two builds have lost more than half of it),
-- regression, improvement.
--
-- params:
--   min_change  SHARE(0..) = 0.03  Smallest change that counts, as a share.
--
-- filters: scanned_values
--
-- portions: device
--
-- next: regression_deltas, environment_changes
--
-- columns:
--   device, model, backend, run, event_name, delegate_id, ordinal
--   build_count  BIGINT  Builds with dumps that count, at least 1.
--   dump_count   BIGINT  Dumps that count, at least 1.
--   first_bad    STRING  First build of the new level; null without a change.
--   last_good    STRING  Last build before it; the cause is between both.
--   unit         STRING  Unit of the times that follow: ns; ticks where the clock's
--                        rate is unknown.
--   before       DOUBLE  Median of the dumps before; null without a change, as the next
--                        two.
--   after        DOUBLE  Median of the dumps from it on; lower is better.
--   now          DOUBLE  Median of the dumps of the last two builds.
--   delta        DOUBLE  Change as a share: 0.05 is 5 % slower (Hodges-Lehmann); null
--                        where p is above 1e-4.
--   p            DOUBLE  Of the test; null where none was made.
--   verdict
WITH series AS (
    SELECT
        series_id, device, model, backend, run, event_name, delegate_id, ordinal, unit,
        CAST(max(back) AS BIGINT) AS build_count, count(*) AS dump_count,
        max(CASE WHEN back = change.split THEN build END) AS first_bad,
        max(CASE WHEN back = change.split + 1 THEN build END) AS last_good,
        median(CASE WHEN is_after = 0 THEN value END) AS before,
        median(CASE WHEN is_after = 1 THEN value END) AS after,
        median(CASE WHEN back <= 2 THEN value END) AS now,
        median(floor) AS floor,
        median(CASE WHEN back <= 2 THEN y END)
            - median(CASE WHEN is_after = 0 THEN y END) AS shift_now,
        max(change.p) AS p, max(change.least_p) AS least_p, max(change.shift) AS shift
    FROM scanned_values
    GROUP BY
        series_id, device, model, backend, run, event_name, delegate_id, ordinal, unit
),
verdicts AS (
    SELECT
        *,
        CASE
            WHEN coalesce(least_p, 1e0) > 1e-6 THEN 'insufficient_data'
            WHEN before < floor THEN 'below_resolution'
            WHEN shift IS NULL OR NOT reaches(
                1 + abs(exp(shift) - 1), 1 + CAST(:min_change AS DOUBLE)
            ) THEN 'unchanged'
            WHEN p > 1e-6 THEN 'inconclusive'
            WHEN shift_now / nullif(shift, 0e0) < 5e-1 THEN 'gone'
            WHEN shift > 0 THEN 'regression'
            ELSE 'improvement'
        END AS verdict
    FROM series
)
SELECT
    device, model, backend, run, event_name, delegate_id, ordinal, build_count,
    dump_count,
    CASE WHEN has_change THEN first_bad END AS first_bad,
    CASE WHEN has_change THEN last_good END AS last_good,
    unit, CASE WHEN has_change THEN before END AS before,
    CASE WHEN has_change THEN after END AS after,
    CASE WHEN has_change THEN now END AS now,
    exp(shift) - 1 AS delta, p, verdict
FROM (
    SELECT *, verdict IN ('gone', 'regression', 'improvement') AS has_change
    FROM verdicts
) AS v
ORDER BY
    device, model, backend NULLS LAST, run, event_name, delegate_id NULLS LAST, ordinal,
    unit
