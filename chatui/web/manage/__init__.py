"""The administration pages: one home for those who look after the place, of which everybody sees the parts that are theirs."""
