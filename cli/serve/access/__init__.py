"""Access to the service: tokens, device pools, and the audit log."""
