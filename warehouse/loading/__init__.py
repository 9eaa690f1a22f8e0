"""Decoded dumps written into the open transaction."""
