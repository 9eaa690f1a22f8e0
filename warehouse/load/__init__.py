"""Loading of dumps into a store: read, decoded and committed in order."""
