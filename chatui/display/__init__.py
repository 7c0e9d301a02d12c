"""What a page may show of a conversation: rows in, values out, every text of which has passed the gate."""
