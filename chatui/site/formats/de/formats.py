"""Date and time formats for German, with the 24-hour clock and the distance from UTC."""

DATE_FORMAT = "j. F Y"
TIME_FORMAT = r"H:i e"
DATETIME_FORMAT = r"j. F Y, H:i e"
SHORT_DATE_FORMAT = "d.m.Y"
SHORT_DATETIME_FORMAT = r"d.m.Y, H:i e"
