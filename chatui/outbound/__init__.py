"""How the product asks other servers than model servers: one door out, with three rules.

- **A host that the operator named** (a settings file, the environment) is asked as it is, wherever it is.
- **An address of anybody else's** (staff in Administration, a tool server's metadata, a model that opens a page) leads to public addresses
  only, and the connection goes to the very address that was checked (``public_network``).
- **A proxy** is the operator's or none: the environment's for sign-in providers, a route's for model servers.

In all cases: one deadline, a limit in bytes, no redirect that is followed unseen, no compression that was not asked for, no cookies that
stay. ``addresses`` says which address is one. Model servers have a transport of their own below the same rules (``backends.http1``),
because a token costs a third there.
"""
