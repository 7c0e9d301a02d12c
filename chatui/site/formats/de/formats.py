"""Date and time formats for German, with the 24-hour clock and "UTC"."""

DATE_FORMAT = "j. F Y"
TIME_FORMAT = r"H:i T"
DATETIME_FORMAT = r"j. F Y, H:i T"
SHORT_DATE_FORMAT = "d.m.Y"
SHORT_DATETIME_FORMAT = r"d.m.Y, H:i T"
