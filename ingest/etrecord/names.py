"""Names of the programs in an ETRecord."""

EDGE_PROGRAM = "edge_dialect_exported_program"
EXPORTED_PROGRAM = "exported_program"
