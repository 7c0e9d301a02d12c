"""Tests of the instructions of operators, people and folders in prompts."""
