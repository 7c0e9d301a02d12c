"""The addresses about tools: calls that wait for their person, and the choice of tools."""
