"""Answers from blobs of the older profiler: profile, framework tax, memory."""
