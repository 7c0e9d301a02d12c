"""One thin file for each manage.py command."""
