"""Date and time formats for English: day before month, the month in words, the 24-hour clock and the distance from UTC."""

DATE_FORMAT = "j F Y"
TIME_FORMAT = r"H:i e"
DATETIME_FORMAT = r"j M Y, H:i e"
SHORT_DATE_FORMAT = "j M Y"
SHORT_DATETIME_FORMAT = r"j M Y, H:i e"
