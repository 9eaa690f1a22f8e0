-- What manifests say was counted or used up while dumps were recorded.

CREATE TABLE counters (
    dump_id INTEGER NOT NULL,
    run_index INTEGER,
    name VARCHAR NOT NULL,
    unit VARCHAR NOT NULL,
    value DOUBLE NOT NULL
);
