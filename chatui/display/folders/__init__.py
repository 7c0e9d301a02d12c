"""The folders of a person: what pages show of them, and what their owner does with them."""
