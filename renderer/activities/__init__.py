"""Reasoning summaries made of the product's own words: what a model is doing, as a value of a closed table.

``activity`` is the value and its English sentence, ``kinds`` the table, ``lines`` decides when a line appears and enforces all limits,
``reading`` finds the kind of work in a passage of reasoning by the words in ``cues``, ``gates`` tells what the person's own text must show
before, and ``spans`` what a line may name of it.
"""
