"""The second factor: one-time codes from an app, passkeys and recovery codes, and who needs one."""
