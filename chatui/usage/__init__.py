"""Usage: limits, reservations, the ledger and its reports. Nothing here reads or stores text."""
