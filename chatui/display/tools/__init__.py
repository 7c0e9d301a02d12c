"""Tools on pages: calls that wait for approval, and the tool menu at the message box."""
