"""Who uses how much: limits, reservations, the ledger and its reports. Nothing in here reads or keeps a text."""
