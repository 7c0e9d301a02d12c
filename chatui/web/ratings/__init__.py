"""The pages about ratings: rating an answer, and the export of all ratings."""
