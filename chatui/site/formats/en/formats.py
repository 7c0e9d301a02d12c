"""Date and time formats for English: day before month, the month in words, the 24-hour clock and "UTC"."""

DATE_FORMAT = "j F Y"
TIME_FORMAT = r"H:i T"
DATETIME_FORMAT = r"j M Y, H:i T"
SHORT_DATE_FORMAT = "j M Y"
SHORT_DATETIME_FORMAT = r"j M Y, H:i T"
