"""Who may. One question, one function; 'not found' and 'not yours' look the same.

Every view and command asks here in its first line; every list of conversations starts from ``access``, and every action on permanent ones
from ``access.own_permanent``. What a *frame* shows is no question of this room: that is ``renderer.gate``, for an audience.

Before staff see hidden channels, ``access.view_hidden`` checks the permission and the opt-in (``debug_requests``), and ``debug_views``
records the access; then the text is read. An attempt without the permission is recorded (``attempts``) and refused. If it cannot be
recorded, nothing is shown.
"""
