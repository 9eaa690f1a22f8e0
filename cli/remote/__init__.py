"""Commands that use a service: the same questions, asked over HTTP."""
