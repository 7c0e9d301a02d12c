"""Examines a live model server: a handful of questions, what came back, and which known faults that shows. Knows no Django."""
