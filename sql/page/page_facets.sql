-- page_facets: Names that each filter of the page can have, with their dumps.
--
-- The dumps of a name pass all filters except that of the name itself, so that a reader
-- sees what another name would select.
--
-- params:
--   device, pool
--   build  STRING[] OF builds.name = NULL     Only these builds.
--   model, backend
--   since  TIMESTAMP = NULL                   Only dumps captured from then on.
--   until  TIMESTAMP = NULL                   Only dumps captured before this time.
--
-- columns:
--   facet       STRING  device, pool, build, model or backend.
--   name        STRING  The name.
--   dump_count  BIGINT  Dumps, at least 1.
WITH dated AS (
    SELECT
        device, pool, build, model, backend,
        is_chosen(:device, device) AS is_of_device,
        is_chosen(:pool, pool) AS is_of_pool,
        is_chosen(:build, build) AS is_of_build,
        is_chosen(:model, model) AS is_of_model,
        is_chosen(:backend, backend) AS is_of_backend
    FROM named_dumps
    WHERE (CAST(:since AS TIMESTAMP) IS NULL
            OR captured_at >= CAST(:since AS TIMESTAMP))
        AND (CAST(:until AS TIMESTAMP) IS NULL
            OR captured_at < CAST(:until AS TIMESTAMP))
)
SELECT facet, name, count(*) AS dump_count
FROM (
    SELECT 'device' AS facet, device AS name
    FROM dated
    WHERE is_of_pool AND is_of_build AND is_of_model AND is_of_backend
    UNION ALL
    SELECT 'pool', pool
    FROM dated
    WHERE is_of_device AND is_of_build AND is_of_model AND is_of_backend
    UNION ALL
    SELECT 'build', build
    FROM dated
    WHERE is_of_device AND is_of_pool AND is_of_model AND is_of_backend
    UNION ALL
    SELECT 'model', model
    FROM dated
    WHERE is_of_device AND is_of_pool AND is_of_build AND is_of_backend
    UNION ALL
    SELECT 'backend', backend
    FROM dated
    WHERE is_of_device AND is_of_pool AND is_of_build AND is_of_model
) AS f
WHERE name IS NOT NULL
GROUP BY facet, name
ORDER BY facet, dump_count DESC, name
