"""The inbox of a store: dumps that any process hands over, safe on disk until they are loaded."""
