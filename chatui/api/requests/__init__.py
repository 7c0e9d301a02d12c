"""What programs send, checked and translated into what a turn needs."""
