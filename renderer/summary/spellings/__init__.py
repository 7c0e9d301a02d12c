"""Other ways to write hidden text: numbers in words or word lengths, letters apart, and names by how they sound."""
