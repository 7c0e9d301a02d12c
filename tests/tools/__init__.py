"""Programs that the Makefile runs: they maintain the checkout and are not part of the product."""
