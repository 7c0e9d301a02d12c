"""Stored conversations: transcripts, the search index, the requests to model servers. Contains hidden text."""
