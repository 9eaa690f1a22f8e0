"""Clients of a tracehouse service, which use only the standard library."""
