-- What manifests say was counted or used up while dumps were recorded; phases of delegates.

CREATE TABLE counters (
    dump_id INTEGER NOT NULL,
    run_index INTEGER,
    name VARCHAR NOT NULL,
    unit VARCHAR NOT NULL,
    value DOUBLE NOT NULL
);

UPDATE event_signatures
SET kind = 'delegate_phase'
WHERE kind = 'delegate_op' AND delegate_id_int IS NULL
    AND regexp_full_match(delegate_id_str, '(ETVK|VGF)_[A-Z_]+');
