"""Documents that people bring, and a real llama.cpp server."""
