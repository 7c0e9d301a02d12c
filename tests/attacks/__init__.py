"""Attacks on what is rendered, loaded in a real browser: ``make attack`` loads all that are known, the tests a sample of them."""
