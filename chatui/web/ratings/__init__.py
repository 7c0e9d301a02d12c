"""The pages about ratings: a person's own, and the export of all."""
