"""Exports of other chat products, one file for each."""
