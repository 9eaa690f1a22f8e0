"""The command line against a service: the same commands, asked over HTTP."""
