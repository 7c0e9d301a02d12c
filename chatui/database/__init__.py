"""How this process reads and writes: one writer, pools with deadlines, faults, locks."""
