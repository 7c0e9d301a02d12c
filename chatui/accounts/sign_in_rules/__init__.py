"""What the operator says of the ways in: the providers, and for whom passwords are."""
