"""The SCIM 2.0 endpoints, with which directories provision accounts."""
