"""The model servers of this deployment: which there are, and who may use them."""
