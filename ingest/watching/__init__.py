"""Watched folders and buckets: new files, once they are complete."""
