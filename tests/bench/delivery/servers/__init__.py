"""The servers of a run besides the product: the model server, and the relays with which the product is compared."""
