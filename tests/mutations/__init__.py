"""``make mutations``: changes the code in one place at a time and lists the changes that no fast test notices."""
