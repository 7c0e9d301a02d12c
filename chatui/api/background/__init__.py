"""Background responses: requested once, then polled or streamed later, also after a lost connection."""
