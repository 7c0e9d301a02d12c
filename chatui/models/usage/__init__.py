"""The tables of usage: the ledger, what each person has used of their limits, the limits, and the prices."""
