"""The monitoring endpoints: liveness, readiness and metrics."""
