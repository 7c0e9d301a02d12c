"""E-mails to people about their accounts, where the operator has configured mail."""
