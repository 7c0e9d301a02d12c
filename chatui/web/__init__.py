"""Every HTTP view and form, one file for each kind of page. Holds only what has passed the gate; imports no tables."""
