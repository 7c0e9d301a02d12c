"""The model servers of this deployment: which exist, and who may use them."""
