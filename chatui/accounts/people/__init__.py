"""People as those who look after accounts see and change them."""
