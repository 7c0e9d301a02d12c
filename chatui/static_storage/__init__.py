"""Static files: scripts and style sheets are bundled, minified, compressed, and named by a hash of their content."""
