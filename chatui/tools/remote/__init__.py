"""What is common to tools of other servers: untrusted definitions, schemas, credentials, one request.

``definition`` is the operator's side, ``offers`` the server's: the operator confirms its digest, and a tool that has changed since is not
offered. ``schemas`` reduces what a model would read, ``exchange`` sends one request.
"""
