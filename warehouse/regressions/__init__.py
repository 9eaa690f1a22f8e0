"""What changed from build to build, night after night, and how sure that is."""
