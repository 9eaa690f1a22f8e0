-- tax_history: The framework tax over the builds, on each device.
--
-- The tax is Method::execute less its kernels and delegate calls, in complete runs
-- (with a Method::execute and without a flagged event). Builds are ordered by their
-- ordinals, else by their commit times, else by their first recordings. All runs count,
-- warm-up included; framework_tax shows the parts of a build's tax.
--
-- filters: chosen_dumps
--
-- parts: run_names, run_sums
--
-- portions: device
--
-- next: framework_tax
--
-- columns:
--   device, model, backend, run, build, build_ordinal, committed_at, first_captured_at
--   dump_count   BIGINT  Dumps with complete runs, at least 1.
--   run_count    BIGINT  Complete runs in them.
--   execute_ns   DOUBLE  Mean Method::execute, nanoseconds; null if a dump counts
--                        cycles of unknown rate, like the next columns.
--   kernel_ns    DOUBLE  Mean time in kernels.
--   delegate_ns  DOUBLE  Mean time in delegate calls.
--   tax_ns       DOUBLE  Mean time outside both; lower is better.
--   tax_share    DOUBLE  Tax over Method::execute, summed over runs, 0 to 1; lower is
--                        better.
--   change       DOUBLE(change)  tax_ns against the build before, as a share: 0.05 is 5
--                        % more; null for the first.
WITH taxed AS (
    SELECT
        d.device, d.model, d.backend, s.run, d.build,
        count(*) AS dump_count, CAST(sum(s.run_count) AS BIGINT) AS run_count,
        whole_sum(s.execute_ns) / sum(s.run_count) AS execute_ns,
        whole_sum(s.kernel_ns) / sum(s.run_count) AS kernel_ns,
        whole_sum(s.delegate_ns) / sum(s.run_count) AS delegate_ns
    FROM run_sums AS s
    JOIN chosen_dumps AS d ON d.dump_id = s.dump_id
    GROUP BY d.device, d.model, d.backend, s.run, d.build
),
series AS (
    SELECT
        t.*, b.position, b.build_ordinal, b.committed_at, b.first_captured_at,
        CASE
            WHEN t.kernel_ns + t.delegate_ns <= t.execute_ns
                THEN t.execute_ns - t.kernel_ns - t.delegate_ns
        END AS tax_ns
    FROM taxed AS t
    JOIN builds_in_order AS b ON b.build = t.build
)
SELECT
    device, model, backend, run, build, build_ordinal, committed_at, first_captured_at,
    dump_count, run_count, execute_ns, kernel_ns, delegate_ns, tax_ns,
    tax_ns / nullif(execute_ns, 0e0) AS tax_share,
    tax_ns / nullif(
        lag(tax_ns) OVER (
            PARTITION BY device, model, backend, run ORDER BY position
        ), 0e0
    ) - 1 AS change
FROM series
ORDER BY device, model, backend NULLS LAST, run, position
