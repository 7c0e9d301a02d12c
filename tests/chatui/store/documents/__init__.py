"""Tests of documents as they are stored."""
