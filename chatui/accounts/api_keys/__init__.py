"""Keys with which programs ask in the name of a person: how they are made, taken back and checked."""
