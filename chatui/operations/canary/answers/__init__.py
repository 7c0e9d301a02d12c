"""The scripted answers with their markers, one file for each wire format."""
