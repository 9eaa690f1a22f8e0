"""Dumps handed over to a service or to a store's inbox, several at a time."""
