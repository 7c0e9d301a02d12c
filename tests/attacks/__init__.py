"""XSS attacks on rendered text, loaded in a real browser: ``make attack`` loads all known attacks, the tests a sample."""
