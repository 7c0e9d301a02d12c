"""What directories say of people before they come, and when they go: the part of SCIM 2.0 (RFC 7643, 7644) that Okta and Entra ID use."""
