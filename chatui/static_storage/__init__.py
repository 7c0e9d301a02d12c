"""How scripts and style sheets reach a browser: joined, without comments, compressed, and under names that change with their content."""
