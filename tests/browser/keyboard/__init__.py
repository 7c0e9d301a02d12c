"""The chat page by keyboard: shortcuts, the dialog that lists them, the find bar, and the sidebar that folds away."""
