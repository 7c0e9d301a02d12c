"""Tools from an OpenAPI document: each operation that the operator named becomes a tool, and each call an HTTP request."""
