"""The HTTP edge: pages, fragments, downloads. Asks ``access`` first, then hands what ``display`` or ``exports`` made to a template."""
