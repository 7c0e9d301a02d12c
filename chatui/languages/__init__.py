"""The languages of the pages: which exist, how templates mark them, and how their catalogues are compiled."""
