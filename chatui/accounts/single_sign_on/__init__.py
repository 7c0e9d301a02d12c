"""Single sign-on with OpenID Connect: the requests to providers, the checks of their tokens, and how a sign-in updates an account."""
