"""The admin pages: accounts, groups, back ends, and conversations without their content. Changes are recorded."""
