"""What pages, sockets and programs may show, as values typed by the gate: the same file names as in web."""
