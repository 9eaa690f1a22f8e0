"""Who may do what: tokens, sessions, device pools, and the audit log."""
