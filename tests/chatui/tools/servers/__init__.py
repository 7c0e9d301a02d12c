"""Tests of the tools file, of confirmations, and of what is offered."""
