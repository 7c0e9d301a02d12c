"""The scripted answers with their markers, one file for each wire format.

``shaped`` makes answers of the catalogue ``shapes.jsonl``, and ``labelled`` of every label.
"""
