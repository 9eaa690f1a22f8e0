"""Answers from decoded dumps and from the warehouse's canned queries."""
