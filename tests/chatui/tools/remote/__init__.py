"""Tests of handling other servers' data: names, schemas, texts and responses."""
