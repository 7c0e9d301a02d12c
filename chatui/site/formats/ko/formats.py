"""Date and time formats for Korean, with the 24-hour clock and "UTC"."""

DATE_FORMAT = "Y년 n월 j일"
TIME_FORMAT = r"H:i T"
DATETIME_FORMAT = r"Y년 n월 j일, H:i T"
SHORT_DATE_FORMAT = "Y년 n월 j일"
SHORT_DATETIME_FORMAT = r"Y년 n월 j일, H:i T"
