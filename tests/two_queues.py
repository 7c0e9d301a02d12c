"""Distributes tests over processes: what needs a processor to half as many again as there are processors, what mostly waits to the others.

In one queue, either the processors idle while tests wait, or so many browsers run at once that pages are slow. What needs a processor
waits a third of its time, too: for a page, or for a server that starts."""

import os
from typing import Any

from xdist.scheduler import LoadFileScheduling

from tests.conftest import SPREAD, TOGETHER, WAITING

BUSY = (os.cpu_count() or 2) * 3 // 2


class TwoQueues(LoadFileScheduling):  # type: ignore[misc]  # xdist has no types
    """The first ``BUSY`` processes take what needs a processor, and then help with what waits. The others take only what waits."""

    def _split_scope(self, nodeid: str) -> str:
        return shared(nodeid)

    def _assign_work_unit(self, node: Any) -> None:
        running = [each for each in self.assigned_work if not each.shutting_down]
        kinds = (False, True) if node in running[:BUSY] else (True,)
        scope = next((scope for waits in kinds for scope in self.workqueue if scope.startswith(WAITING) is waits), None)
        if scope is None:
            node.shutdown()
            return
        self.workqueue.move_to_end(scope, last=False)
        super()._assign_work_unit(node)


def shared(nodeid: str) -> str:
    """The scope of tests that one process runs together: a module, a directory whose tests share a server, or a case that is spread."""
    if nodeid.startswith(SPREAD):
        return nodeid
    path = nodeid.partition("::")[0]
    return next((directory for directory in TOGETHER if path.startswith(directory)), path)
