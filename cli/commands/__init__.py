"""The commands, one module each: options, one call, one output."""
