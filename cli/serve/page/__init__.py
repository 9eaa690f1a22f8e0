"""The service's page: the fleet, latencies, operators, dumps, alerts and refusals; no script."""
