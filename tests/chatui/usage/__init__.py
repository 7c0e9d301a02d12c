"""Tests of limits and of the ledger."""
