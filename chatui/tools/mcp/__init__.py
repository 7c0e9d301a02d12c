"""Tools of MCP servers, over HTTP and over stdio."""
