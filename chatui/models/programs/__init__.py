"""The tables of the API: keys, and the answers that programs received."""
