"""Changes from build to build, judged night after night, with their significance."""
