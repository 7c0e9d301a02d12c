"""Conversations that are to be gone soon: how long they last, and what is stored of them where somebody keeps one."""
