"""Tools from an OpenAPI document: each operation that the operator named becomes one, and a call of it becomes a request."""
