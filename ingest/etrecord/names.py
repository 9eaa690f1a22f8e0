"""Names of the programs in an ETRecord, and of their constants."""

EDGE_PROGRAM = "edge_dialect_exported_program"
EXPORTED_PROGRAM = "exported_program"
CONSTANT_PREFIXES = ("p_", "b_", "c_")  # torch.export's, of parameters, buffers and constants
