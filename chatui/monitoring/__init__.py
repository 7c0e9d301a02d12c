"""Monitoring: metrics, readiness, and the settings in force."""
