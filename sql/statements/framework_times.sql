-- Typical time of a method's runs outside of kernels and delegate calls, in nanoseconds, per build:
-- the median over dumps of medians over runs. On a device ($device), of a model ($model, $backend),
-- in runs of a name ($run) of some builds ($builds).
SELECT build, median(tax_ns) AS tax_ns
FROM (
    SELECT
        d.build, d.dump_id,
        median(c.execute_ns - c.kernel_ns - c.delegate_ns) AS tax_ns
    FROM named_dumps AS d
    JOIN complete_runs AS c ON c.dump_id = d.dump_id
    JOIN runs AS r ON r.dump_id = c.dump_id AND r.run_index = c.run_index
    JOIN named_run_signatures AS n
        ON n.dump_id = r.dump_id AND n.run_signature_id = r.run_signature_id
    WHERE d.device = $device AND d.model = $model AND d.backend IS NOT DISTINCT FROM $backend
        AND n.run = $run AND array_contains($builds, d.build)
    GROUP BY d.build, d.dump_id
) AS t
GROUP BY build
