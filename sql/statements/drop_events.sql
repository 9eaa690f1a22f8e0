-- Drop the events of the dumps with these hashes, and record that once.
INSERT INTO dropped_events
SELECT d.dump_id, a.recorded_at
FROM dropped AS a JOIN dumps AS d ON d.sha256 = a.sha256
WHERE d.dump_id NOT IN (SELECT dump_id FROM dropped_events);

DELETE FROM events
WHERE dump_id IN (
    SELECT d.dump_id FROM dropped AS a JOIN dumps AS d ON d.sha256 = a.sha256
)
