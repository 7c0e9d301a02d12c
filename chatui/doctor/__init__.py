"""The doctor: examines a live model server with a few questions and finds known faults. Nothing here imports Django."""
