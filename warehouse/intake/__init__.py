"""Files on their way into a store: read, claimed, decoded and committed in order."""
