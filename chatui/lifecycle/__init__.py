"""An account from outside: directories (SCIM) create and change it, closing and erasing end it."""
