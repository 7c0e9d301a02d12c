"""The admin site: accounts, groups, back ends, and conversations without their content. What it changes is recorded."""
