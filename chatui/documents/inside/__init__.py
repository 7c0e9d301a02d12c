"""The program in that process, with a reader for each kind of file."""
