"""The canary: plants markers in what a model server hides, and looks for them in everything that an end user can fetch."""
