"""Where sessions begin, whatever the way in."""
