"""The service: dumps over HTTP into the intake log, answers over HTTP out of the store."""
