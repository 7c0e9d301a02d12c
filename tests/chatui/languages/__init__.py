"""The languages of the pages."""
