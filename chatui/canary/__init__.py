"""The canary: a leak test that plants markers in hidden text, and searches everything that an end user can fetch for them."""
