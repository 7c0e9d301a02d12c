"""Django's administration, as far as web/manage does not have it yet. Imports tables, so it is no part of web. To be emptied."""
