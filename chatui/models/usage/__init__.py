"""The tables of usage: the ledger, each person's counts, the limits, and the prices."""
