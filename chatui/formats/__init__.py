"""How the admin pages write times: with their zone."""
