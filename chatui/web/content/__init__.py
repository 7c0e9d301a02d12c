"""What the content of answers needs of the server besides the pages."""
