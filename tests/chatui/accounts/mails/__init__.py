"""Mail to people about their accounts."""
