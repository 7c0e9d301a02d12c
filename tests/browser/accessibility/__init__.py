"""What people need who do not see, point or read small print: tried in every state that the pages have."""
