"""The language of a page: how it is chosen for each request, and the form with which a person changes it."""
