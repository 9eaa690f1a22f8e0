"""Charts as SVG: scales and axes, marks, and the one renderer of pages and files."""
