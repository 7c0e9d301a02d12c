"""The look of the site: brand, languages, templates, static files."""
