"""What a blob of the older profiler says: profile, framework tax, memory."""
