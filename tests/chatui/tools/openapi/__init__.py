"""Tests of the tools of OpenAPI documents, with real servers on loopback, good and hostile."""
