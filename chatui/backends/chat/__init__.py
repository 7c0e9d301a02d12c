"""The wire format Chat Completions.

``backend`` samples; ``messages`` writes the request; ``deltas`` reads the stream, and ``reasoning`` keeps what is sent
back of it. Only the answer field can become visible.
"""
