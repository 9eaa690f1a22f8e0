"""Upkeep tasks, which a command runs on a store, or has a service run on its store."""
