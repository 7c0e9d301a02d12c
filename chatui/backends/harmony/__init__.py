"""The token-id wire format, for servers that complete a prompt of token ids, in which no marker can be forged."""
