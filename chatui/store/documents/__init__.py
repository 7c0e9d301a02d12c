"""Documents: the text of uploaded files, and how it is sent to a model."""
