"""Files to read: paths, folders, globs, zips and companions of dumps."""
