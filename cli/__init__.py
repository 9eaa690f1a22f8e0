"""The command line: parse options, call, print."""
