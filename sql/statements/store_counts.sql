-- What a store holds, in one row.
SELECT
    (SELECT count(*) FROM dumps) AS dumps,
    (SELECT CAST(coalesce(sum(n_events), 0) AS BIGINT) FROM dumps) AS events,
    (SELECT count(*) FROM devices) AS devices,
    (SELECT count(*) FROM builds) AS builds,
    (SELECT count(*) FROM models) AS models,
    (SELECT max(ingested_at) FROM dumps) AS last_ingest_at,
    (SELECT count(DISTINCT sha256) FROM archived_files) AS archived_files,
    (
        SELECT count(*) FROM dumps WHERE sha256 NOT IN (SELECT sha256 FROM archived_files)
    ) AS unarchived_dumps
