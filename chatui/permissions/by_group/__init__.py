"""What the operator keeps for members of some groups, as settings name them."""
