"""The ExecuTorch Inspector's Python interface, without torch."""
