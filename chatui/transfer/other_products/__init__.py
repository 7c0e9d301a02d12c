"""Exports of other chat products, one file for each.

Begin with ``reading``, which recognizes the product. Only text that is known to have been shown to people becomes visible (``frames``).
"""
