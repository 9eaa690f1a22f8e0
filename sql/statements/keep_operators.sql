-- Replace the kept operators of all models with a dump after the $last one by those in aligned.
DELETE FROM rows_of_aligned_operators AS k
WHERE EXISTS (
    SELECT 1
    FROM dumps AS n
    JOIN models AS o ON o.model_id = n.model_id
    WHERE n.dump_id > $last AND o.name = k.model AND o.backend IS NOT DISTINCT FROM k.backend
);
INSERT INTO rows_of_aligned_operators FROM aligned
