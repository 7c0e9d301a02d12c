"""The wire format of token ids: llama.cpp, vLLM, SGLang."""
