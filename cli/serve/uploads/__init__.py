"""Uploads: admitted, received, and accepted into the inbox."""
