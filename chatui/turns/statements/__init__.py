"""The compiled SQL statements that every turn uses."""
