"""Date and time formats for simplified Chinese, with the 24-hour clock and the distance from UTC."""

DATE_FORMAT = "Y年n月j日"
TIME_FORMAT = r"H:i e"
DATETIME_FORMAT = r"Y年n月j日, H:i e"
SHORT_DATE_FORMAT = "Y年n月j日"
SHORT_DATETIME_FORMAT = r"Y年n月j日, H:i e"
