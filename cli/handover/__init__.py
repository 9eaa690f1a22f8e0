"""Dumps handed over to a service or to the inbox of a store, many at a time."""
