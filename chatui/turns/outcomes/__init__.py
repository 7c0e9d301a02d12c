"""How turns end."""
