#!/usr/bin/env python3
"""Runs the project's management commands in a checkout: ``serve``, ``migrate``, ``first_account``, …"""

from chatui.command_line import main

if __name__ == "__main__":
    main()
