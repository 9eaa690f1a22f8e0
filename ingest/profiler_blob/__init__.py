"""The reader of blobs of ExecuTorch's older profiler."""
