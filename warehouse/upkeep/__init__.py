"""Changes of a store other than ingests; each is an archive entry, which a rebuild repeats.

Functions of this package raise StoreError if the store or its archive cannot be written.
"""
