"""The edge for programs: the formats of Open Responses and of Chat Completions, served behind the same gate as the pages."""
