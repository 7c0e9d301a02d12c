"""Serves a model file with the real llama.cpp HTTP server: ``serve.py MODEL PORT [none] [CONTEXT]``. Runs in the cache's own environment.

``none`` is llama.cpp's ``reasoning_format``: the setting with which it puts half of the Harmony markup into the answer. CONTEXT: how many
tokens each of its two slots can read.
"""

# mypy: ignore-errors
import signal
import sys

import xllamacpp


def main(model: str, port: str, reasoning_format: str = "auto", context: str = "4096") -> None:
    params = xllamacpp.CommonParams()
    params.model.path = model
    params.model_alias = {"gpt-oss-tiny"}
    params.hostnames = "127.0.0.1" if isinstance(params.hostnames, str) else ["127.0.0.1"]
    params.port = int(port)
    params.use_jinja = True
    params.n_parallel = 2
    params.n_ctx = int(context) * params.n_parallel
    params.n_threads_http = 4
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
    params.endpoint_metrics = params.endpoint_props = params.endpoint_slots = True
    if reasoning_format == "none":
        params.reasoning_format = xllamacpp.common_reasoning_format.COMMON_REASONING_FORMAT_NONE
    server = xllamacpp.Server(params)
    print("listening", server.listening_address, flush=True)
    signal.sigwait({signal.SIGINT, signal.SIGTERM})


if __name__ == "__main__":
    main(*sys.argv[1:])
