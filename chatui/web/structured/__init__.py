"""Pages about structured output."""
