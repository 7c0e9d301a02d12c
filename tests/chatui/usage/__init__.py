"""Tests of usage limits and of the ledger."""
