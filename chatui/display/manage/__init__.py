"""What those who look after the place are shown of its answers and model servers: no text of anybody's."""
