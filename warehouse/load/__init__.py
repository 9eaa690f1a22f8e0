"""Dumps on their way into a store: read, decoded and committed in order."""
