"""What everybody writes to and nobody reads from: measures, spans, error reports. What is read of them is in ``display``."""
