"""The tables about model servers, beside their configuration."""
