"""The load generator: a process that plays many pages at once, and measures the delay of each word."""
