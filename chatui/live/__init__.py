"""The WebSocket edge: commands come in, visible events go out. Read ``routing``, ``origin``, ``consumer``, ``commands``."""
