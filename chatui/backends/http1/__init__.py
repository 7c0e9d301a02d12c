"""HTTP/1.1 to model servers, read at frame rate: an httpx transport. Read ``transport``, ``exchange``, ``body``, ``streams``."""
