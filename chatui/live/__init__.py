"""The WebSocket edge: commands in, visible events out, no logic. Read ``routing``, ``origin``, ``consumer``, ``commands``."""
