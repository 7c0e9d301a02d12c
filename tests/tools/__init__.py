"""What the commands in the Makefile call: programs that look after the checkout, none of them part of the product."""
