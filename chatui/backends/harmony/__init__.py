"""The wire format of token ids: llama.cpp, vLLM, SGLang.

``backend`` samples, in the ``dialects`` of the servers; ``prompt`` builds the ids, and ``answer`` reads them with
``renderer.harmony.reader``, as the demo does: that reader hides when in doubt, and a quoted marker is never mistaken for a real one.
"""
