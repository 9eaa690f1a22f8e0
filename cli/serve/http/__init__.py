"""The service over HTTP: connections, requests, logs and metrics."""
