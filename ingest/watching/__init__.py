"""Folders and buckets that are followed: what is new there, once it is whole."""
