"""Traces for operators, as an option: how long each part of a turn or of a request took, without content."""
