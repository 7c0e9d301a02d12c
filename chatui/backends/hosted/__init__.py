"""Tools that model servers execute themselves."""
