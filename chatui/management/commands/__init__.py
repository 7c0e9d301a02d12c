"""``serve`` runs the product; ``first_account`` prints a new code for the first account; ``purge`` empties the bin; ``transcript``,
``ask``, ``record_backend`` and ``fetch_vocabulary`` are for the shell."""
