"""Names of files in an ETRecord, and of the constants of programs."""

EDGE_PROGRAM = "edge_dialect_exported_program"
EXPORTED_PROGRAM = "exported_program"
REPRESENTATIVE_INPUTS = "representative_inputs"
CONSTANT_PREFIXES = ("p_", "b_", "c_")  # torch.export's, of parameters, buffers and constants
