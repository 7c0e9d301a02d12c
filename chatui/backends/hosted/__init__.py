"""Tools that model servers run by themselves."""
