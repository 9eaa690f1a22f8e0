"""Services of tracehouse, spoken to over HTTP with the standard library alone."""
