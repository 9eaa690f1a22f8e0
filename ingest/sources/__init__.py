"""What is read from disk: paths, folders, globs, zips and what lies beside a dump."""
