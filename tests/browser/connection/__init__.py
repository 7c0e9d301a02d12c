"""The page and its connection: updates by events alone, and what people see without a connection."""
