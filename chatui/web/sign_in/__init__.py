"""The pages on which somebody becomes signed in, and those on which they change how.

``session`` starts every session, however somebody signs in, and remembers who has only entered a password. What is checked is in
``accounts``: ``single_sign_on`` is two endpoints around ``accounts.openid`` and ``accounts.account_linking``.
"""
