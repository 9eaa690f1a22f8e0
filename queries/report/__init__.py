"""Reports about changes between builds: one content, several forms."""
