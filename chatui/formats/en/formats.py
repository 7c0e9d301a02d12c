"""Formats of Django's own pages: the day before the month in words, the clock with 24 hours, and UTC said."""

DATE_FORMAT = "j F Y"
TIME_FORMAT = r"H:i \U\T\C"
DATETIME_FORMAT = r"j M Y, H:i \U\T\C"
SHORT_DATE_FORMAT = "j M Y"
SHORT_DATETIME_FORMAT = r"j M Y, H:i \U\T\C"
