-- Dumps to verify: a $share of those that were ingested at or after $since, from $start on.
SELECT dump_id, sha256, source
FROM (
    SELECT *, row_number() OVER (ORDER BY dump_id) - 1 AS place, count(*) OVER () AS n
    FROM dumps
    WHERE $since::TIMESTAMPTZ IS NULL OR ingested_at >= $since
)
WHERE (place - floor($start * n) + n) % n < ceil($share * n)
ORDER BY dump_id
