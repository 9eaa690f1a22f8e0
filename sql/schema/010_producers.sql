-- What producers log that is no time of the dump's clocks: units of event signatures, counters of
-- delegates. warehouse/load/reclassified.py fills in what the shipped rules of producers say.

ALTER TABLE event_signatures ADD COLUMN IF NOT EXISTS unit VARCHAR;

ALTER TABLE counters ADD COLUMN source VARCHAR;

ALTER TABLE counters ADD COLUMN event_signature_id BIGINT;

ALTER TABLE counters ADD COLUMN instruction_id INTEGER;
