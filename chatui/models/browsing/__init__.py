"""The tables of the web browsing tool."""
