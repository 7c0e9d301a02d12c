"""The addresses at which directories tell of people (SCIM 2.0)."""
