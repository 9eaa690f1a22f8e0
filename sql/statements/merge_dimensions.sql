-- Delete devices, builds and models without dumps, and set the attributes of the others from their
-- dumps: where dumps differ, the first to arrive counts, and in one batch the first text.
DELETE FROM devices WHERE device_id NOT IN (SELECT device_id FROM dumps);
DELETE FROM models WHERE model_id NOT IN (SELECT model_id FROM dumps);
DELETE FROM builds WHERE build_id NOT IN (SELECT build_id FROM dumps);

UPDATE builds
SET commit = s.commit, branch = s.branch, ordinal = s.ordinal, committed_at = s.committed_at,
    parent = s.parent, role = s.role
FROM (
    SELECT build_id,
        arg_min(commit, (ingested_at, facts)) AS commit,
        arg_min(branch, (ingested_at, facts)) AS branch,
        arg_min(ordinal, (ingested_at, facts)) AS ordinal,
        min(committed_at) AS committed_at,
        arg_min(parent, (ingested_at, facts)) AS parent,
        arg_min(role, (ingested_at, facts)) AS role
    FROM (
        SELECT build_id, ingested_at, manifest ->> '$.build' AS facts,
            manifest ->> '$.build.commit' AS commit,
            manifest ->> '$.build.branch' AS branch,
            CAST(manifest ->> '$.build.ordinal' AS BIGINT) AS ordinal,
            CAST(manifest ->> '$.build.committed_at' AS TIMESTAMPTZ) AS committed_at,
            manifest ->> '$.build.parent' AS parent,
            manifest ->> '$.build.role' AS role
        FROM dumps
    )
    GROUP BY build_id
) AS s
WHERE s.build_id = builds.build_id
