"""Account management: what account managers see of people, and what they can change."""
