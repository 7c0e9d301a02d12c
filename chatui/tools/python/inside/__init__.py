"""The programs that run in the sandbox. They are passed to it as text. They import nothing from the product, and the product imports
nothing from them."""
