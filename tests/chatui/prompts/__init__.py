"""What a person wrote for a folder, in what is asked of a model."""
