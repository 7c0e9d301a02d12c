"""The doctor: tests a live model server with a few questions and reports known faults. Nothing here imports Django."""
