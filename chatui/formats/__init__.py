"""How the back office writes times: with their zone."""
