-- The order of builds, which the caller fills.
CREATE TABLE build_order (
    build_id INTEGER NOT NULL,
    position INTEGER NOT NULL,
    captured_at TIMESTAMP WITH TIME ZONE,
    device_count INTEGER NOT NULL,
    first_captured_at TIMESTAMP WITH TIME ZONE,
    last_captured_at TIMESTAMP WITH TIME ZONE
)
