"""Answers agents by the Model Context Protocol (MCP)."""
