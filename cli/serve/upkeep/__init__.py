"""Upkeep of the store of a running service."""
