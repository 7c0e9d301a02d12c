"""Static files: scripts and style sheets are joined, stripped of comments, compressed, and named by a hash of their content."""
