"""The loop of a turn: the model calls a tool, the tool is run, its reply is kept as a frame, and the model is sampled again."""
