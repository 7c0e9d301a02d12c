"""What is common to tools of other servers: untrusted definitions, schemas, credentials, one request."""
