"""The pages of the ways to sign in, beside the password."""
