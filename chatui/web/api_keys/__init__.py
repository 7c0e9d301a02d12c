"""The page on which a person makes keys for programs, and takes them back."""
