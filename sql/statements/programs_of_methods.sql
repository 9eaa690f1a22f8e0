-- Operators of methods in their order, per build: those of the program that most dumps ran. Of some
-- methods ($methods: device, model, backend and run, with chr(31) between them, and chr(30) between
-- methods) in some builds ($builds, with chr(31) between). The names are those that builds have in
-- common; logged_name and kind are the program's own.
WITH ran AS (
    SELECT
        d.device, d.model, d.backend, r.run, d.build, r.run_signature_id, count(*) AS dump_count
    FROM (
        SELECT dump_id, device, model, backend, build
        FROM named_dumps
        WHERE array_contains(split($builds, chr(31)), build)
    ) AS d
    JOIN named_run_signatures AS r ON r.dump_id = d.dump_id
    WHERE array_contains(
        split($methods, chr(30)),
        concat_ws(chr(31), d.device, d.model, coalesce(d.backend, ''), r.run)
    )
    GROUP BY d.device, d.model, d.backend, r.run, d.build, r.run_signature_id
),
chosen AS (
    SELECT
        *, row_number() OVER (
            PARTITION BY device, model, backend, run, build
            ORDER BY dump_count DESC, run_signature_id DESC
        ) AS choice
    FROM ran
)
SELECT
    c.device, c.model, c.backend, c.run, c.build, e.kind,
    coalesce(nullif(s.name, ''), s.delegate_id_str, e.event_name) AS logged_name,
    m.module_path AS module, coalesce(a.event_name, e.event_name) AS event_name,
    CASE WHEN a.event_name IS NULL THEN e.delegate_id ELSE a.delegate_id END AS delegate_id,
    coalesce(a.ordinal, e.ordinal) AS ordinal
FROM chosen AS c
JOIN program_events AS e ON e.run_signature_id = c.run_signature_id
JOIN event_signatures AS s ON s.event_signature_id = e.event_signature_id
LEFT JOIN aligned_operators AS a ON a.run_signature_id = e.run_signature_id
    AND a.event_signature_id = e.event_signature_id AND a.run = c.run
    AND a.model = c.model AND a.backend IS NOT DISTINCT FROM c.backend
LEFT JOIN (
    SELECT run_signature_id, event_signature_id, min(module_path) AS module_path
    FROM own_modules
    GROUP BY run_signature_id, event_signature_id
) AS m ON m.run_signature_id = e.run_signature_id AND m.event_signature_id = e.event_signature_id
WHERE c.choice = 1 AND s.is_profiled AND e.kind IN ('kernel', 'delegate_op', 'delegate_call')
ORDER BY c.device, c.model, c.backend, c.run, c.build, e.place
