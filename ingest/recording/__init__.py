"""Programs run on this machine under ExecuTorch's event tracer, and their dumps."""
