"""Features that the operator limits to members of some groups, by settings."""
