"""Temporary conversations: how long they last, and indexing one that its person keeps."""
