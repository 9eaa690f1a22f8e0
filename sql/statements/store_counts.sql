-- Counts of a store's content, in one row; $segments are those of its archive.
WITH filed AS (
    SELECT DISTINCT sha256 FROM archived_files WHERE segment IN (SELECT unnest($segments))
)
SELECT
    (SELECT count(*) FROM dumps) AS dumps,
    (SELECT CAST(coalesce(sum(n_events), 0) AS BIGINT) FROM dumps) AS events,
    (SELECT count(*) FROM devices) AS devices,
    (SELECT count(*) FROM builds) AS builds,
    (SELECT count(*) FROM models) AS models,
    (SELECT max(ingested_at) FROM dumps) AS last_ingest_at,
    (SELECT count(*) FROM filed) AS archived_files,
    (
        SELECT count(*) FROM dumps WHERE sha256 NOT IN (SELECT sha256 FROM filed)
    ) AS unarchived_dumps
