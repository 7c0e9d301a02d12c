"""Shared test code: servers, sockets and scripted model servers."""
