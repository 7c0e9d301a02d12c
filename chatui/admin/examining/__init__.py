"""Examines model servers from the admin pages: runs the doctor in the background and shows its report."""
