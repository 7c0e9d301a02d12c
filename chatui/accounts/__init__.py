"""Who people and programs are: passwords, passkeys, providers, invitations, keys, sessions, groups.

``sign_in_settings`` reads the operator's settings: the providers, a proxy's header, who may use a password. ``forms`` has the forms that
ask for a secret, and ``sign_in`` counts each guess and records the outcome; every way to sign in uses the limits of ``chatui.limits``.
``openid`` sends all requests to providers and checks their responses, ``account_linking`` reads the claims, finds or creates the account
and updates its groups. ``header_sign_in`` reads a proxy's header, for pages and for sockets. ``passkeys`` and ``second_factor`` check the
rest, and ``web.sign_in.session`` starts every session. No two names look alike: ``models.user`` stores the skeleton of each
(``chatui.skeletons``).

``people`` and ``groups`` are what account managers do; each change is recorded (``account_changes``). ``sessions`` and ``key_admission``
ask the database each time, so that a sign-out or a revoked key works at once. Keys, codes and links that are shown once are made in
``secret_texts``.
"""
