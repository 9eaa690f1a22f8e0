-- Typical time of methods outside of kernels and delegate calls, in nanoseconds, per build: the median
-- over dumps of medians over runs. Of some methods ($methods: device, model, backend and run, with
-- chr(31) between them, and chr(30) between methods) in some builds ($builds, with chr(31) between).
SELECT device, model, backend, run, build, median(tax_ns) AS tax_ns
FROM (
    SELECT
        d.device, d.model, d.backend, n.run, d.build, d.dump_id,
        median(c.execute_ns - c.kernel_ns - c.delegate_ns) AS tax_ns
    FROM (
        SELECT dump_id, device, model, backend, build
        FROM named_dumps
        WHERE array_contains(split($builds, chr(31)), build)
    ) AS d
    JOIN complete_runs AS c ON c.dump_id = d.dump_id
    JOIN named_run_signatures AS n
        ON n.dump_id = c.dump_id AND n.run_signature_id = c.run_signature_id
    WHERE array_contains(
        split($methods, chr(30)),
        concat_ws(chr(31), d.device, d.model, coalesce(d.backend, ''), n.run)
    )
    GROUP BY d.device, d.model, d.backend, n.run, d.build, d.dump_id
) AS t
GROUP BY device, model, backend, run, build
