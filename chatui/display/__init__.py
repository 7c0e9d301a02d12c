"""Prepares stored conversations for pages: every text in the results has passed the gate."""
