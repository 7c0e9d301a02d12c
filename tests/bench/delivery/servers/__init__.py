"""What a run starts beside the product: the model server, and the relays that the product is held against."""
