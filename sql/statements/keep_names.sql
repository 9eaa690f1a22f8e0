-- Replace the kept names of runs that differ from the ones in found_names.
DELETE FROM rows_of_named_run_signatures AS k
WHERE dump_id IN (SELECT dump_id FROM found_names) AND NOT EXISTS (
    SELECT 1 FROM found_names AS f
    WHERE f.dump_id = k.dump_id AND f.run_signature_id = k.run_signature_id
        AND f.run = k.run AND f.is_execution = k.is_execution
        AND f.has_variants = k.has_variants
);
INSERT INTO rows_of_named_run_signatures
SELECT *
FROM found_names AS f
WHERE NOT EXISTS (
    SELECT 1 FROM rows_of_named_run_signatures AS k
    WHERE k.dump_id = f.dump_id AND k.run_signature_id = f.run_signature_id
)
ORDER BY dump_id;
DROP TABLE found_names
