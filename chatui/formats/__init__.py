"""How pages write dates and times in each language: with their zone."""
