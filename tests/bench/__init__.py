"""Benchmarks. Each number that is meant to be compared is a ratio of two times taken in one run on one machine."""
