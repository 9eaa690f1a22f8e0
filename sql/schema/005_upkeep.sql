-- What was taken out of a store again, and when.

CREATE TABLE dropped_events (
    dump_id INTEGER NOT NULL,
    dropped_at TIMESTAMP WITH TIME ZONE NOT NULL
);

CREATE TABLE forgotten_dumps (
    sha256 VARCHAR NOT NULL,
    forgotten_at TIMESTAMP WITH TIME ZONE NOT NULL,
    forgotten_by VARCHAR NOT NULL
);
