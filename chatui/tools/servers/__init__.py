"""The servers of the operator's tools file: the configuration, the operator's confirmations, and the resulting tools."""
