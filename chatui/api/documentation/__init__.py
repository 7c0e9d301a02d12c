"""The API's documentation, generated from its code: an OpenAPI document for programs, and a page for people."""
