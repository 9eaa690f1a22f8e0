"""Runs on a time axis: traces for Perfetto, flame graphs, HTML pages and graph overlays."""
