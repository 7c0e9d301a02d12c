"""JSON Schemas from strangers, made harmless: tools' and those of answers."""
