"""What is counted for ``/metrics``."""

from chatui.observability import measures


def test_work_is_counted() -> None:
    before = measures.REGISTRY.get_sample_value("chatui_sockets") or 0.0
    measures.SOCKETS.inc()
    assert measures.REGISTRY.get_sample_value("chatui_sockets") == before + 1
    measures.SOCKETS.dec()
