"""Describes the API from its own code: as an OpenAPI document for programs, and as a page for people."""
