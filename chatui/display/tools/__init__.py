"""What people see of tools: the calls that wait for them, and the choice of tools at the message box."""
