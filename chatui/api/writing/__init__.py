"""What programs are sent: objects and streams in the formats that they know."""
