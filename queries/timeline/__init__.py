"""Runs on a time axis: traces for Perfetto, flame graphs, pages and graph overlays."""
