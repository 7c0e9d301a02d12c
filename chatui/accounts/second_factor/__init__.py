"""The second factor: one-time codes of an app, recovery codes, and for whom they are required."""
