"""Tests of OpenAPI tools, with real servers on loopback, good and hostile."""
