-- Where the ETRecord of a dump was read from, and its hash.
SELECT source, sha256
FROM etrecords
WHERE etrecord_id = (SELECT etrecord_id FROM dumps WHERE dump_id = ?)
