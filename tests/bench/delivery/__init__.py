"""Measures the path from the model server to the page: the product, a bare relay and a floor relay, in the same run."""
