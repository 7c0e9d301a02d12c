"""Sandboxing for processes that run or read untrusted content: system call filters and resource limits."""
