"""Tests of the source text itself: the rules that a reader relies on and that no run of the product would notice."""
