"""The canned queries: their headers, parameters and texts."""
