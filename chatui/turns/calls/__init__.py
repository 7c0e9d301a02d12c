"""The tool loop of a turn: the model calls a tool, the tool runs, its reply is stored as a frame, and the model is sampled again."""
