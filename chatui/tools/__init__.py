"""What a model may call: the tools, who may use them, what they are given, and how they are run. ``chatui.turns.calls`` calls them."""
