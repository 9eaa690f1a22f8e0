"""The inbox of a store: dumps from any process, safe on disk until they are loaded."""
