"""Correlation of dumps with ETRecords: the operator, module and method of each event."""
