"""Measures the way from the model server to the page: the product beside a bare relay and a floor relay, in the same run."""
