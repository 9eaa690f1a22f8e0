"""Reports about what changed between builds: one content, several forms."""
