"""What an ETRecord knows of a program, as tables and as JSON."""
