"""Which model servers this deployment has, which are connected, and which models are offered to whom."""
