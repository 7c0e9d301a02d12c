"""Formats of dates and times in Korean, with the clock of 24 hours and UTC said."""

DATE_FORMAT = "Y년 n월 j일"
TIME_FORMAT = r"H:i \U\T\C"
DATETIME_FORMAT = r"Y년 n월 j일, H:i \U\T\C"
SHORT_DATE_FORMAT = "Y년 n월 j일"
SHORT_DATETIME_FORMAT = r"Y년 n월 j일, H:i \U\T\C"
