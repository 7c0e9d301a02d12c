"""Who may. One question, one function; 'not found' and 'not yours' look the same."""
