"""The pages on which somebody becomes signed in, and those on which they change how."""
