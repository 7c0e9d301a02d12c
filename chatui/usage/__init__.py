"""Numbers: tokens counted, reserved, settled, limited, reported."""
