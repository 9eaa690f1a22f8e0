-- What of the archive this file knows: it is an index over it, and can be made anew out of it.

CREATE TABLE archive_segments (
    segment BIGINT NOT NULL,
    entry_count BIGINT NOT NULL
);

CREATE TABLE archived_files (
    sha256 VARCHAR NOT NULL,
    kind VARCHAR NOT NULL,
    byte_count BIGINT NOT NULL,
    segment BIGINT NOT NULL
);
