"""Sign-in with OpenID providers: our own, which can misbehave on request, and a real one."""
