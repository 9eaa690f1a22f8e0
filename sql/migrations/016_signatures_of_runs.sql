-- run_totals knows the signature of each run. Dumps get new digests when they are next verified.
CREATE TABLE new_run_totals (
    dump_id INTEGER NOT NULL,
    run_index INTEGER NOT NULL,
    run_signature_id BIGINT NOT NULL,
    execute_ticks DOUBLE NOT NULL,
    kernel_ticks DOUBLE NOT NULL,
    delegate_ticks DOUBLE NOT NULL
);
INSERT INTO new_run_totals BY NAME
SELECT
    t.dump_id, t.run_index, r.run_signature_id, t.execute_ticks, t.kernel_ticks,
    t.delegate_ticks
FROM run_totals AS t
JOIN runs AS r ON r.dump_id = t.dump_id AND r.run_index = t.run_index
ORDER BY t.dump_id, t.run_index;
DROP TABLE run_totals;
ALTER TABLE new_run_totals RENAME TO run_totals;
DELETE FROM dump_digests
