"""The date and time formats of each language, always with the time zone."""
