"""What ``docs/operating.md`` tells an operator to do, carried out as it stands there."""
