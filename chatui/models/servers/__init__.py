"""What is known of model servers beside how they are set up."""
