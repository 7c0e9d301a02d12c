"""Tests of the ``python`` tool."""
