"""Tests of what is made of other servers' words: names, schemas, texts and answers."""
