"""The tool python: an interpreter for each conversation, and the sandbox around it. driver.py and probes.py run inside it."""
