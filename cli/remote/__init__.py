"""Commands that use a service: the same queries over HTTP."""
