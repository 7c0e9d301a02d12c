"""Tests of reasoning summaries while a turn runs."""
