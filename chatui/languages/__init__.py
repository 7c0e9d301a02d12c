"""The languages of the pages: which there are, how they are marked in templates, and how their catalogues are compiled."""
