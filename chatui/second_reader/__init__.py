"""A second Harmony reader and writer, openai-harmony, in its own process. For tools and tests, never for live turns."""
