"""Answers of canned queries as pictures: marks beside the rows, and drawings."""
