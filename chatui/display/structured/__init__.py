"""The output format of answers, for pages."""
