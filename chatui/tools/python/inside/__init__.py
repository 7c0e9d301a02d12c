"""The programs that run in the sandbox. They are passed to it as text: they import nothing from the product, and it imports nothing
from them."""
