"""The reader of blobs that ExecuTorch's older profiler writes."""
