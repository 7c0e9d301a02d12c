"""Loads what a turn needs before its model is asked."""
