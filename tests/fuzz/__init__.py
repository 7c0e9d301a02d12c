"""Feeds the readers of transcripts random input, and checks that they keep their promises."""
