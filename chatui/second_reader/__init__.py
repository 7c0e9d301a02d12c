"""A second reader and writer of Harmony beside our own: openai-harmony, in a process of its own. For tools and tests, never for a turn."""
