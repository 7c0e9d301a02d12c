"""Optional tracing for operators: how long each part of a turn or request took, without content."""
