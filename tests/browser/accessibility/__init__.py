"""Accessibility tests of every state of the pages: screen reader, keyboard, touch, zoom and forced colours."""
