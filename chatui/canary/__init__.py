"""The canary: plants markers in what must stay hidden, and searches everything that an end user can fetch for them."""
