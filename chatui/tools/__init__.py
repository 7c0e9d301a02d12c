"""Tools that a model can call: the catalogue, access rules, arguments and execution. ``chatui.turns.calls`` runs them."""
