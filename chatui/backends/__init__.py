"""Speaks with model servers: request out, raw events in, for every wire format. Knows no Django."""
