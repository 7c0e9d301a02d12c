"""Tests of the tools: how they are made, offered, checked and run."""
