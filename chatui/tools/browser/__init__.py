"""The tool browser: the pages of one turn, opened and shown with line numbers."""
