"""What the process that runs the tests keeps, as a new process has it."""

from types import ModuleType
from typing import Any


def forget(*modules: ModuleType) -> None:
    """Go on as a new process does, which has yet to work out what these modules keep in ``functools.cache``."""
    for module in modules:
        found = [each for each in vars(module).values() if _is_of(each, module) and hasattr(each, "cache_clear")]
        assert found, f"{module.__name__} caches nothing"
        for each in found:
            each.cache_clear()


def begin_anew(*modules: ModuleType) -> None:
    """Go on as a new process does, which has yet to read what these modules keep: in values of their own dataclasses, and in dictionaries
    that are no constants."""
    for module in modules:
        found = 0
        for name, each in list(vars(module).items()):
            if isinstance(each, dict) and name.islower() and name in vars(module).get("__annotations__", ()):
                each.clear()
                found += 1
            kind: Any = type(each)
            values = getattr(kind, "__dataclass_params__", None)
            if _is_of(kind, module) and values is not None and not values.frozen:
                kind.__init__(each)
                found += 1
        assert found, f"{module.__name__} keeps nothing"


def _is_of(each: object, module: ModuleType) -> bool:
    return getattr(each, "__module__", None) == module.__name__
