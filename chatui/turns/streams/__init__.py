"""What each follower of a turn gets: the person, a program, the debug view, a page of another process.

``turns.publisher`` hands every raw event to each stream. A stream passes it through ``renderer.gate`` for its own audience, and turns what
is left into the events of ``wire``. Nothing else may read raw events for a follower. While a frame is open, it can be withdrawn: every
stream then takes back all of its text.
"""
