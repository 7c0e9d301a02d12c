"""Feeds the readers of transcripts what no one would write, and looks whether they keep their promises."""
