"""The input and output of the load generator."""

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Job:
    """``streams`` pages that start evenly over ``arrive`` seconds; each asks ``turns`` questions, for ``tokens`` at ``rate`` a second.

    ``port`` and ``pid`` are the server's, ``upstream`` is the model server's pid. ``cookies``: one for each page, or none; for programs,
    their keys. ``fetches``: also fetch over HTTP what the page fetches. ``deflate``: offer to compress.
    ``counter``: the file with what the server counts.
    """

    dialect: str
    port: int
    pid: int
    upstream: int
    streams: int
    tokens: int
    rate: int
    turns: int = 1
    arrive: float = 1.0
    fetches: bool = False
    deflate: bool = False
    counter: str = ""
    cookies: tuple[str, ...] = ()


@dataclass(slots=True)
class Outcome:
    """Seconds, of ``cpu`` the server's processor seconds; ``others`` the share of a core that the load and the model server needed,
    ``waited`` the share of the time for which the server could have run and its core did something else.

    ``frames`` contained text, ``received`` are the bytes of all, ``memory`` is the server's in MB while the pages are still open. The ``p``
    are percentiles of how long words were on their way, the ``first`` those of each answer's first word, and the ``wait`` those of the time
    from a question to that word. ``counted``, by name, and ``first_statements``, those up to the first word, are the lower quartiles
    of all turns, so without what the server does every few seconds, and what a busy machine adds. ``missed`` answers had ended before the
    page could follow them.
    """

    cpu: float = 0.0
    others: float = 0.0
    waited: float = 0.0
    turns: int = 0
    tokens: int = 0
    frames: int = 0
    received: int = 0
    fetched: int = 0
    memory: float = 0.0
    p50: float = 0.0
    p99: float = 0.0
    first_p50: float = 0.0
    first_p99: float = 0.0
    wait_p50: float = 0.0
    wait_p99: float = 0.0
    first_statements: float = 0.0
    counted: dict[str, float] = field(default_factory=dict)
    is_compressed: bool = False
    missed: int = 0
    faults: list[str] = field(default_factory=list)
