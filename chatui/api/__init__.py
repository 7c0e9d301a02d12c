"""The HTTP API for programs: Open Responses and Chat Completions, with the same checks as the pages."""
