"""The tables about sign-in and account states, beside the account itself."""
