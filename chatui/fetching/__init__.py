"""Fetches what a model or a page on the web names: the one place of the product that connects to addresses that strangers choose."""
