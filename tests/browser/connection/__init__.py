"""The page and its connection: what comes by events alone, and what people see while there is none."""
