-- Dumps to verify: a $share of those that were ingested at or after $since, from $start on.
-- Rounded, because 0.29 * 100 is less than 29: a hundred turns would leave dumps out.
SELECT dump_id, sha256, source
FROM (
    SELECT *, row_number() OVER (ORDER BY dump_id) - 1 AS place, count(*) OVER () AS n
    FROM dumps
    WHERE $since::TIMESTAMPTZ IS NULL OR ingested_at >= $since
)
WHERE (place - floor(round($start * n, 6)) + n) % n < ceil(round($share * n, 6))
ORDER BY dump_id
