"""Formats of dates and times in simplified Chinese, with the clock of 24 hours and UTC said."""

DATE_FORMAT = "Y年n月j日"
TIME_FORMAT = r"H:i \U\T\C"
DATETIME_FORMAT = r"Y年n月j日, H:i \U\T\C"
SHORT_DATE_FORMAT = "Y年n月j日"
SHORT_DATETIME_FORMAT = r"Y年n月j日, H:i \U\T\C"
