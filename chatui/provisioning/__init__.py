"""SCIM 2.0 provisioning (RFC 7643, 7644), as far as Okta and Entra ID use it: a directory creates, changes and closes accounts."""
