"""Keeps reasoning out of the answer field of servers that know no channels."""
