"""Classifies model server failures: one table for every wire format, for refusals before an answer and for errors inside one."""
