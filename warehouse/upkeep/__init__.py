"""Changes of a store other than ingests; each is an archive entry, which a rebuild repeats."""
