-- Hashes of everything in the store that the nightly report of a build ($head) depends on: dumps
-- of its lineage and of reference builds, facts about these builds, and the decisions and refusals
-- before $until (null if no later build has dumps).
WITH builds_of_head AS (
    SELECT name, build_id, b
    FROM builds AS b
    WHERE name = $head OR role = 'reference'
        OR name IN (SELECT ancestor FROM build_lineage WHERE build = $head)
)
SELECT
    (SELECT bit_xor(hash(b)) FROM builds_of_head) AS builds,
    (SELECT count(*) FROM dumps WHERE build_id IN (SELECT build_id FROM builds_of_head)) AS dumps,
    (
        SELECT bit_xor(hash(sha256, manifest, etrecord_id))
        FROM dumps
        WHERE build_id IN (SELECT build_id FROM builds_of_head)
    ) AS contents,
    (
        SELECT bit_xor(hash(group_id, state, reason, decided_at))
        FROM group_decisions
        WHERE build IS NULL AND ($until IS NULL OR decided_at < $until)
    ) AS decisions,
    (
        SELECT bit_xor(hash(e))
        FROM ingest_errors AS e
        WHERE $until IS NULL OR refused_at < $until
    ) AS refusals
