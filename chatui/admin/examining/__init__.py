"""Examines model servers from the administration pages: runs the doctor in the background, and shows its report in words of our own."""
