"""The WebSocket for pages: commands come in, visible events go out. Read ``routing``, ``origin``, ``consumer``, ``commands``."""
