-- builds: Builds as the manifests of a lake's dumps state them.
--
-- Of differing manifests, the first to arrive counts, and the earliest commit time;
-- stores do the same.
WITH stated AS (
    SELECT
        build_id, get_json_object(manifest, '$.build') AS facts,
        min(ingested_at) AS stated_at
    FROM dumps
    GROUP BY build_id, get_json_object(manifest, '$.build')
),
ordered AS (
    SELECT
        build_id,
        row_number() OVER (
            PARTITION BY build_id ORDER BY stated_at NULLS LAST, facts NULLS LAST
        ) AS place,
        get_json_object(facts, '$.id') AS name,
        get_json_object(facts, '$.commit') AS commit,
        get_json_object(facts, '$.branch') AS branch,
        CAST(get_json_object(facts, '$.committed_at') AS TIMESTAMP) AS committed_at,
        CAST(get_json_object(facts, '$.ordinal') AS BIGINT) AS ordinal,
        get_json_object(facts, '$.parent') AS parent,
        get_json_object(facts, '$.role') AS role
    FROM stated
)
SELECT
    build_id, max(name) AS name,
    min_by(commit, place) FILTER (WHERE commit IS NOT NULL) AS commit,
    min_by(branch, place) FILTER (WHERE branch IS NOT NULL) AS branch,
    min(committed_at) AS committed_at,
    min_by(ordinal, place) FILTER (WHERE ordinal IS NOT NULL) AS ordinal,
    min_by(parent, place) FILTER (WHERE parent IS NOT NULL) AS parent,
    min_by(role, place) FILTER (WHERE role IS NOT NULL) AS role
FROM ordered
GROUP BY build_id
