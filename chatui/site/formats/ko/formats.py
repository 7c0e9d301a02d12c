"""Date and time formats for Korean, with the 24-hour clock and the distance from UTC."""

DATE_FORMAT = "Y년 n월 j일"
TIME_FORMAT = r"H:i e"
DATETIME_FORMAT = r"Y년 n월 j일, H:i e"
SHORT_DATE_FORMAT = "Y년 n월 j일"
SHORT_DATETIME_FORMAT = r"Y년 n월 j일, H:i e"
