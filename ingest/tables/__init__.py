"""Verified columns to Arrow tables."""
