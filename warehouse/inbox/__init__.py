"""The inbox of a store: dumps from any process, safe on disk until they are loaded.

Functions of this package raise StoreError if the disk is full, or the inbox cannot be read or
written.
"""
