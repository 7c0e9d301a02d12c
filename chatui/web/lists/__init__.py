"""Pages of conversations that are not in the list of the side bar."""
