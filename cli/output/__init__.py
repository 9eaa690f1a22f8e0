"""What commands print, and how: tables, notes, progress."""
