"""Lets Ctrl+C reach the processes that tests start. A shell ignores it for a command in the background, and they would inherit that."""

import signal

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
