"""Answers to queries, reports and SQL."""
