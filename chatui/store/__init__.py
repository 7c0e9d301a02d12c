"""Rows, and what is derived from them: transcripts, the search index, stored requests. Holds hidden text."""
