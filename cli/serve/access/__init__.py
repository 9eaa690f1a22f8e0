"""Who may do what: tokens, device pools, and the audit log."""
