"""An ETRecord as tables and as JSON."""
