"""The wire format Chat Completions.

``backend`` samples; ``messages`` writes the request; ``joining`` and ``deltas`` read the stream. Only the answer field can become visible.
"""
