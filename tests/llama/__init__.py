"""A real llama.cpp server with a tiny gpt-oss model, for tests: ``python -m tests.llama CACHE_DIR PORT [none]``."""
