"""The formats for English, the one language of the admin pages."""
