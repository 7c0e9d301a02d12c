"""Single sign-on with OpenID Connect: the providers, the exchange with them, and what a sign-in changes in an account."""
