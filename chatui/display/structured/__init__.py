"""The required format of answers, for pages."""
