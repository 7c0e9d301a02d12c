"""The browser tool that gpt-oss was trained with: ``search``, ``open`` and ``find``, on pages as text with numbered lines."""
