"""The SQL text of tracehouse as package data: views, canned queries and statements."""
