"""The warehouse's SQL text: schema migrations, views and canned queries, as package data."""
