"""A real llama.cpp server with a real, tiny gpt-oss model, for tests: ``python -m tests.llama CACHE_DIR PORT [none]``."""
