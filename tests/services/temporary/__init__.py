"""Temporary chats over several processes."""
