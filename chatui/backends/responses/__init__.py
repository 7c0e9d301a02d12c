"""The wire format Responses.

``backend`` samples; ``reducer`` reads the stream, with ``items`` (which item an event belongs to) and ``speech`` (one message at a time).
"""
