"""The sign-in pages for every method besides the password."""
