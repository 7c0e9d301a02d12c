"""The scripted answers of the canary's own model server, with a marker in each hidden place."""
